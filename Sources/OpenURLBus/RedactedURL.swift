internal import RFC1808

/// A URL as logs and monitors show it: with `…` in place of what may be a secret.
///
/// Tokens stand in queries, fragments and parameters, and passwords before the host. The content of a `data` URL may be anything, and
/// a URL inside another one has all of these.
package struct RedactedURL: Sendable, Hashable {
    /// The URL. A long one is cut.
    package let text: String
    /// The texts that are left out, the longest first, as the URL writes them and decoded; nil if there are too many to look for.
    private let secrets: [String]?

    /// The mark in place of a text that is left out.
    package static let mark = "…"
    /// The largest size of a URL, in bytes.
    private static let textBytes = 2048
    /// The largest number of texts to look for in a message.
    private static let secretCount = 64

    /// Reads a text, which need not be a URL.
    ///
    /// - Parameter showsQueries: whether the query, the fragment and the parameters stay.
    package init(_ url: String, showsQueries: Bool = false) {
        var parts = Parts()
        do throws(GenericURL.ParseError) {
            parts.add(try GenericURL(url), showsQueries)
        } catch {
            // Nobody knows what the parts of a text are that is not a URL.
            parts.hide(url[...])
            parts.text = Self.mark
        }
        text =
            parts.text.utf8.count > Self.textBytes ? parts.text.prefix(bytes: Self.textBytes) + Self.mark : parts.text
        secrets =
            parts.secrets.count > Self.secretCount
            ? nil : parts.secrets.sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
    }

    /// Returns a message without the texts that are left out of the URL.
    package func redacting(_ message: String) -> String {
        guard let secrets else { return Self.mark }
        var bytes: [UInt8]?
        for secret in secrets {
            let word = Array(secret.utf8)
            if let replaced = (bytes ?? Array(message.utf8)).replacing(word, with: Array(Self.mark.utf8)) {
                bytes = replaced
            }
        }
        return bytes.map { String(decoding: $0, as: UTF8.self) } ?? message
    }

    /// The texts, as they are collected.
    private struct Parts {
        var text = ""
        var secrets: Set<String> = []

        mutating func add(_ url: GenericURL, _ showsQueries: Bool) {
            guard let scheme = url.scheme else {
                hide(url.description[...])
                text = RedactedURL.mark
                return
            }
            text = "\(scheme):"
            if scheme.lowercased() == XCallbackURL.replyScheme || hides(url) {
                hide(url.resourceSpecifier, "/&;?#,")
                text += RedactedURL.mark
                return
            }
            if scheme.lowercased() == "data", let content = url.opaquePart {
                let type = content.prefix { $0 != "," && $0 != ";" }
                hide(url.resourceSpecifier.dropFirst(type.count))
                text += "\(type),\(RedactedURL.mark)"
                return
            }
            if let location = url.networkLocation {
                text += "//"
                let host = location.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
                if host.utf8.count < location.utf8.count {
                    hide(location.dropLast(host.count + 1))
                    for part in [url.user, url.password] { part.map { hide($0) } }
                    text += "\(RedactedURL.mark)@"
                }
                text += host
            }
            text += url.opaquePart ?? url.path
            for (sign, part) in [(";", url.parameters), ("?", url.query), ("#", url.fragment)] {
                guard let part else { continue }
                if showsQueries || part.isEmpty {
                    text += sign + part
                } else {
                    hide(part)
                    text += sign + RedactedURL.mark
                }
            }
        }

        /// Whether everything after the scheme is left out: a program, or another URL.
        private func hides(_ url: GenericURL) -> Bool {
            guard let part = url.opaquePart else { return false }
            return url.lowercasedScheme == "javascript" || part.contains("//")
        }

        /// Adds a part of a URL, its parameters and their values.
        mutating func hide(_ part: Substring, _ separators: String = "&;?#,") {
            add(part)
            for pair in part.split(whereSeparator: { separators.contains($0) }) {
                add(pair)
                if let equals = pair.firstIndex(of: "=") { add(pair[equals...].dropFirst()) }
                // More are not looked for.
                if secrets.count > RedactedURL.secretCount { return }
            }
        }

        private mutating func add(_ text: Substring) {
            guard !text.isEmpty else { return }
            secrets.insert(String(text))
            if let decoded = FormParameters.decoded(text), decoded != text { secrets.insert(decoded) }
        }
    }
}

extension [UInt8] {
    /// The size of a text that is too short to be replaced within a longer word.
    private static let shortWord = 4

    /// Returns the bytes with another text in place of each occurrence of a word; nil if there is none. A short word is replaced only
    /// where it is a whole word, because it may be a part of many others.
    fileprivate func replacing(_ word: [UInt8], with mark: [UInt8]) -> [UInt8]? {
        guard !word.isEmpty, count >= word.count else { return nil }
        var result: [UInt8] = []
        var start = 0
        var position = 0
        while position + word.count <= count {
            let end = position + word.count
            guard self[position] == word[0], self[position..<end].elementsEqual(word),
                word.count >= Self.shortWord || !isInWord(before: position) && !isInWord(at: end)
            else {
                position += 1
                continue
            }
            result += self[start..<position]
            result += mark
            start = end
            position = end
        }
        return start == 0 ? nil : result + self[start...]
    }

    private func isInWord(before position: Int) -> Bool { position > 0 && self[position - 1].isAlphanumeric }

    private func isInWord(at position: Int) -> Bool { position < count && self[position].isAlphanumeric }
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
            true
        default: false
        }
    }
}
