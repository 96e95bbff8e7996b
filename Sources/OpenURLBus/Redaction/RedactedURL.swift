package import RFC1808

/// A URL in the form that logs and monitors show, with `…` in place of anything that may be a secret.
///
/// Queries, fragments and parameters may contain tokens, and there may be a password in front of a host. The content of
/// a `data` URL may be anything, and a URL inside another one may have all of these.
package struct RedactedURL: Sendable, Hashable {
    /// The URL without these parts, cut if it is long.
    package let text: String
    /// The parts that are left out.
    private let hidden: [HiddenPart]

    /// The mark that takes the place of text that is left out.
    package static let mark = "…"
    /// Maximum size of a URL, in bytes.
    private static let textBytes = 2048

    /// A part that is left out.
    fileprivate struct HiddenPart: Sendable, Hashable {
        let text: Substring
        /// The characters that separate the part's parameters.
        let separators: String
    }

    /// Reads a string, which need not be a URL.
    ///
    /// - Parameter showsQueries: Whether the query, the fragment and the parameters are kept.
    package init(_ url: String, showsQueries: Bool = false) {
        do throws(GenericURL.ParseError) {
            try self.init(GenericURL(url), showsQueries: showsQueries)
        } catch {
            // If a string is not a URL, there is no telling what its parts are.
            var parts = Parts(showsQueries: showsQueries)
            parts.hide(url[...])
            parts.text = Self.mark
            self.init(parts)
        }
    }

    /// Reads a URL.
    ///
    /// - Parameter showsQueries: Whether the query, the fragment and the parameters are kept.
    package init(_ url: GenericURL, showsQueries: Bool = false) {
        var parts = Parts(showsQueries: showsQueries)
        parts.add(url)
        self.init(parts)
    }

    private init(_ parts: Parts) {
        text = parts.text.cut(toBytes: Self.textBytes)
        hidden = parts.hidden
    }

    /// Texts to look for in messages. Collecting them takes much longer than leaving them out of the URL.
    package var secrets: URLSecrets { URLSecrets(hidden) }

    /// Returns a message without the strings that are left out of the URL.
    ///
    /// A message may contain them with escapes other than the URL's, in a different case, or only in part. Therefore,
    /// no 8 consecutive bytes of the parts that are left out remain, and no beginning of a secret in front of an
    /// ellipsis.
    package func redacting(_ message: String) -> String { hidden.isEmpty ? message : [secrets].redacting(message) }

    /// Returns text without the strings that are left out of the URL. Its own words are kept.
    package func redacting(_ text: QuotingText) -> QuotingText { hidden.isEmpty ? text : [secrets].redacting(text) }

    /// The URL while its parts are being collected.
    private struct Parts {
        let showsQueries: Bool
        var text = ""
        var hidden: [HiddenPart] = []

        init(showsQueries: Bool) { self.showsQueries = showsQueries }

        mutating func add(_ url: GenericURL) {
            guard let scheme = url.scheme else {
                hide(url.description[...])
                text = RedactedURL.mark
                return
            }
            text = scheme + ":"
            let lowercased = scheme.lowercased()
            switch lowercased {
            case XCallbackURL.replyScheme, "javascript", "vbscript", "wifi":
                return leaveOut(url.resourceSpecifier, "/&;?#,")
            case "data":
                let type = Self.mediaType(ofData: url.resourceSpecifier)
                text += type.map { "\($0)," } ?? ""
                return leaveOut(url.resourceSpecifier.dropFirst(type?.count ?? 0))
            default: break
            }
            // This may be one URL that wraps another.
            if let part = url.opaquePart, Self.holdsSlashes(part) { return leaveOut(url.resourceSpecifier) }
            if let location = url.networkLocation {
                text += "//"
                addVisible(location, isLocation: true)
            }
            // A file name may have any character in it.
            if lowercased == "file" {
                text += url.path
            } else {
                addVisible(url.opaquePart ?? url.path, isLocation: false)
            }
            add(url.parameters, after: ";")
            add(url.query, after: "?")
            add(url.fragment, after: "#")
        }

        private mutating func add(_ part: Substring?, after sign: String) {
            guard let part else { return }
            text += sign
            if showsQueries { text += part } else { leaveOut(part) }
        }

        /// Whether a part has two slashes in a row, escaped or not.
        private static func holdsSlashes(_ part: Substring) -> Bool {
            var previous: UInt8 = 0
            for byte in part.utf8 {
                switch byte {
                case UInt8(ascii: "%"), UInt8(ascii: "\\"): return PlainText(part).contains("//")
                case UInt8(ascii: "/") where previous == byte: return true
                default: previous = byte
                }
            }
            return false
        }

        /// Whether a part has nothing that could hide or separate its user, its password or its parameters.
        private static func isSimple(_ part: Substring) -> Bool {
            for byte in part.utf8 {
                switch byte {
                case UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "\\"), UInt8(ascii: "@"), UInt8(ascii: "?"),
                    UInt8(ascii: "#"), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "&"):
                    return false
                default: continue
                }
            }
            return true
        }

        /// Returns the media type that precedes the content of a `data` URL; nil if there is none, or if the URL breaks
        /// the rules.
        private static func mediaType(ofData content: Substring) -> Substring? {
            guard content.contains(",") else { return nil }
            let type = content.prefix { $0 != "," && $0 != ";" }
            let isType = type.allSatisfy { $0.isLetter || $0.isNumber || "/+-._".contains($0) } && type.first != "/"
            return isType && (type.isEmpty || type.contains("/")) ? type : nil
        }

        /// Adds a network location, a path or an opaque part. Programs may put a user, a password and parameters there,
        /// too.
        private mutating func addVisible(_ part: Substring, isLocation: Bool) {
            if Self.isSimple(part) { return text += part }
            let plain = PlainText(part)
            // Deeper escapes may hide anything.
            if plain.hasEscapesLeft { return leaveOut(part) }
            var start = 0
            let sign = plain.bytes.lastIndex(of: UInt8(ascii: "@"))
            if let sign, isLocation || plain.bytes[..<sign].contains(UInt8(ascii: ":")) {
                let user = plain.source(0..<sign)
                hide(user)
                for word in plain.bytes[..<sign].split(whereSeparator: { ":/".utf8.contains($0) }) {
                    hide(plain.source(word.startIndex..<word.endIndex))
                }
                text += RedactedURL.mark
                start = sign
            }
            let end =
                showsQueries
                ? nil : plain.bytes[start...].firstIndex { "?#;=&".utf8.contains($0) }.map { $0 + 1 }
            text += plain.source(start..<(end ?? plain.bytes.count))
            if let end { leaveOut(plain.source(end..<plain.bytes.count)) }
        }

        private mutating func leaveOut(_ part: Substring, _ separators: String = "&;?#,") {
            guard !part.isEmpty else { return }
            hide(part, separators)
            text += RedactedURL.mark
        }

        /// Records a part of a URL to leave out, with its parameters and their values.
        mutating func hide(_ part: Substring, _ separators: String = "&;?#,") {
            hidden.append(HiddenPart(text: part, separators: separators))
        }
    }
}

/// Texts that are left out of a URL, so that they can be left out of messages, too.
package struct URLSecrets: Sendable {
    /// These texts, in the form of ``PlainText``.
    private var texts: Set<[UInt8]> = []
    /// Every run of ``PlainText/runBytes`` bytes in the parts that are left out.
    private var runs: Set<UInt64> = []

    /// Maximum number of texts to look for in a message.
    private static let count = 64
    /// Maximum number of levels of URLs within URLs to search for values.
    private static let nestedLevels = 4
    /// Within a longer word, texts shorter than this are not left out.
    private static let shortWord = 4

    fileprivate init(_ hidden: [RedactedURL.HiddenPart]) {
        for part in hidden { add(part.text, part.separators) }
    }

    /// Adds a URL's part, its parameters and their values.
    private mutating func add(_ part: Substring, _ separators: String) {
        add(part)
        for pair in part.split(whereSeparator: { separators.contains($0) }) {
            // Beyond this count, the whole message is hidden.
            if texts.count > Self.count { return }
            add(pair)
            if let equals = pair.firstIndex(of: "=") { addValue(pair[equals...].dropFirst()) }
        }
    }

    /// Adds a parameter's value and, if the value may be a URL, the values in it.
    private mutating func addValue(_ value: Substring) {
        var values = [value]
        for _ in 0..<Self.nestedLevels {
            var inner: [Substring] = []
            for value in values {
                add(value)
                let text = String(decoding: PlainText(value).bytes, as: UTF8.self)
                if let sign = text.lastIndex(of: "@"), let slash = text[..<sign].lastIndex(of: "/") {
                    let user = text[slash..<sign].dropFirst()
                    if user.contains(":") { inner += user.split(separator: ":", maxSplits: 1) + [user] }
                }
                let pairs = text.split { "&;?#".contains($0) }
                inner += pairs.compactMap { pair in
                    pair.firstIndex(of: "=").map { pair[$0...].dropFirst() }
                }
                if texts.count + inner.count > Self.count { break }
            }
            if inner.isEmpty { return }
            values = inner
        }
    }

    private mutating func add(_ text: Substring) {
        let plain = PlainText(text)
        guard !plain.bytes.isEmpty, texts.insert(plain.bytes).inserted else { return }
        plain.forEachRun { _, run in runs.insert(run) }
    }

    /// Whether nothing is left out.
    fileprivate var isEmpty: Bool { texts.isEmpty }

    /// Marks the bytes of a message that are to be left out.
    fileprivate func hide(in plain: PlainText, _ hidden: inout [Bool]) {
        guard texts.count <= Self.count else {
            // There are too many texts to look for, so any part of the message may be a secret.
            for position in hidden.indices { hidden[position] = true }
            return
        }
        // Longer texts are found by their runs.
        for text in texts where text.count < PlainText.runBytes {
            plain.find(text, isWord: text.count < Self.shortWord, in: &hidden)
        }
        plain.forEachRun { (start, run) in
            guard runs.contains(run) else { return }
            for position in start..<start + PlainText.runBytes { hidden[position] = true }
        }
        for cut in plain.ellipses {
            for text in texts {
                plain.findBeginning(of: text, before: cut.lowerBound, in: &hidden)
                plain.findEnd(of: text, after: cut.upperBound, in: &hidden)
            }
        }
    }
}

extension [URLSecrets] {
    /// Returns text without the strings that are left out of the URLs. Its own words are kept.
    package func redacting(_ text: QuotingText) -> QuotingText { text.replacingQuotations { redacting($0) } }

    /// Returns a message without the strings that are left out of the URLs, as ``RedactedURL/redacting(_:)`` does.
    package func redacting(_ message: String) -> String {
        guard !allSatisfy(\.isEmpty) else { return message }
        let plain = PlainText(message)
        var hidden = [Bool](repeating: false, count: plain.bytes.count)
        for secrets in self { secrets.hide(in: plain, &hidden) }
        return hidden.contains(true) ? plain.text(without: hidden, mark: RedactedURL.mark) : message
    }
}
