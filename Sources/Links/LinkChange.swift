internal import RFC1808
internal import SchemeRegistry
internal import UserFiles

/// A change that a rule makes to a link before it is opened.
enum LinkChange: Sendable, Hashable {
    /// Replaces what a regular expression matches.
    case rewritten(LinkSubstitution)
    /// Removes the parameters of the query whose names match.
    case without([LinkGlob])

    /// Maximum length of a link that is changed, in bytes.
    static let maximumLength = 2048
    /// Maximum number of steps that the changes of one link take together. So many take a few milliseconds.
    static let maximumSteps = 500_000
    /// The number of steps that are as much work as reading the link and the rules again after a change.
    private static let stepsToReadAgain = 1000

    /// Returns the changed link, which is read again as any other.
    ///
    /// - Parameter budget: the number of steps that this change may take, which decreases.
    /// - Throws: why the link cannot be changed, worded to follow the rule.
    func changed(_ url: GenericURL, budget: inout Int) throws(LinkChangeError) -> GenericURL {
        let text = url.description
        guard text.utf8.count <= Self.maximumLength else { throw LinkChangeError("changes no link of that length") }
        budget -= Self.stepsToReadAgain
        guard budget > 0 else { throw LinkChangeError("takes too long with this link") }
        let changed =
            switch self {
            case .rewritten(let substitution): try substitution.applied(to: text, budget: &budget)
            case .without(let names): Self.removing(names, from: text)
            }
        if changed == text { return url }
        let result: GenericURL
        do throws(GenericURL.ParseError) {
            result = try GenericURL(changed)
        } catch {
            throw LinkChangeError("makes something of a link that is not a URL: \(error)")
        }
        guard let link = Link(result), link.isOfTheWeb, link.host != nil else {
            throw LinkChangeError("makes something of a link that is not an http or https URL with a host")
        }
        return result
    }

    private static func removing(_ names: [LinkGlob], from text: String) -> String {
        let bytes = Array(text.utf8)
        let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        guard let mark = bytes[..<end].firstIndex(of: UInt8(ascii: "?")) else { return text }
        let parameters = bytes[(mark + 1)..<end].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let kept = parameters.filter { parameter in
            let name = parameter.prefix { $0 != UInt8(ascii: "=") }
            return !names.contains { $0.matches(name) }
        }
        if kept.count == parameters.count { return text }
        let query = kept.isEmpty ? [] : [UInt8(ascii: "?")] + kept.joined(separator: [UInt8(ascii: "&")])
        return String(decoding: bytes[..<mark] + query + bytes[end...], as: UTF8.self)
    }
}

/// Why a rule could not change a link, worded to follow the rule.
package struct LinkChangeError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A regular expression and what replaces its matches, as in `s,PATTERN,REPLACEMENT,`.
///
/// The pattern is an extended regular expression of POSIX. In the replacement, `\1` to `\9` stand for the groups, `\0`
/// for the whole match, and `\%1` for a group with its escapes decoded. A `&` stands for itself, because URLs have so
/// many. After the last separator, `g` replaces every match, and `i` ignores case.
struct LinkSubstitution: Sendable, Hashable, CustomStringConvertible {
    /// The substitution as written.
    let description: String
    private let expression: LinkExpression
    private let pieces: [Piece]
    private let isForAll: Bool

    private enum Piece: Sendable, Hashable {
        case text([UInt8])
        case group(Int, isDecoded: Bool)
    }

    static func == (left: Self, right: Self) -> Bool { left.description == right.description }

    func hash(into hasher: inout Hasher) { hasher.combine(description) }

    init(_ text: String) throws(LinkSyntaxError) {
        description = text
        let bytes = Array(text.utf8)
        guard bytes.count > 3, bytes[0] == UInt8(ascii: "s"), bytes.allSatisfy({ (0x20...0x7E).contains($0) }),
            bytes[1] != UInt8(ascii: "\\")
        else { throw LinkSyntaxError("'rewritten' is followed by s,PATTERN,REPLACEMENT,") }
        let parts = bytes[2...].split(separator: bytes[1], omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw LinkSyntaxError(
                "'\(printable(text))' is not s,PATTERN,REPLACEMENT, with three times the same separator, which can be any "
                    + "character that neither part contains"
            )
        }
        for flag in parts[2] where flag != UInt8(ascii: "g") && flag != UInt8(ascii: "i") {
            throw LinkSyntaxError("'\(printable(text))' ends with something other than g and i")
        }
        isForAll = parts[2].contains(UInt8(ascii: "g"))
        expression = try LinkExpression(Array(parts[0]), ignoringCase: parts[2].contains(UInt8(ascii: "i")))
        pieces = try Self.pieces(parts[1], groups: expression.groups)
    }

    private static func pieces(_ text: ArraySlice<UInt8>, groups: Int) throws(LinkSyntaxError) -> [Piece] {
        var pieces: [Piece] = []
        var plain: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                plain.append(byte)
                continue
            }
            let isDecoded = rest.first == UInt8(ascii: "%")
            if isDecoded { rest.removeFirst() }
            switch rest.popFirst() {
            case let digit? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit):
                let group = Int(digit - UInt8(ascii: "0"))
                guard group <= groups else {
                    throw LinkSyntaxError(
                        "the replacement has \\\(group), but the regular expression has \(groups) groups"
                    )
                }
                if !plain.isEmpty { pieces.append(.text(plain)) }
                plain = []
                pieces.append(.group(group, isDecoded: isDecoded))
            case let other? where !isDecoded: plain.append(other)
            default: throw LinkSyntaxError("the replacement has a \\ without a number or a character after it")
            }
        }
        if !plain.isEmpty { pieces.append(.text(plain)) }
        return pieces
    }

    /// Returns a text with the matches replaced.
    ///
    /// - Parameter budget: the number of steps that the search may take, which decreases.
    func applied(to text: String, budget: inout Int) throws(LinkChangeError) -> String {
        let text = Array(text.utf8)
        var result: [UInt8] = []
        /// The end of what is in the result.
        var done = 0
        repeat {
            let match: LinkExpression.Match?
            do throws(LinkExpression.Exhausted) {
                match = try expression.firstMatch(in: text, from: done, budget: &budget)
            } catch {
                throw LinkChangeError("takes too long with this link")
            }
            guard let match else { break }
            result += text[done..<match.whole.lowerBound]
            for piece in pieces {
                switch piece {
                case .text(let bytes): result += bytes
                case .group(let number, let isDecoded):
                    let group = number == 0 ? match.whole : match.groups[number - 1]
                    guard let group else { continue }
                    result += isDecoded ? Self.decoded(text[group]) : Array(text[group])
                }
            }
            guard result.count <= 4 * LinkChange.maximumLength else {
                throw LinkChangeError("makes a link of more than \(4 * LinkChange.maximumLength) bytes")
            }
            done = match.whole.upperBound
            if match.whole.isEmpty, done < text.count {
                // An expression that matches nothing would match at the same place again.
                result.append(text[done])
                done += 1
            } else if match.whole.isEmpty {
                break
            }
        } while isForAll && done < text.count
        return String(decoding: result + text[done...], as: UTF8.self)
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                rest.prefix(2).count == 2
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
