internal import Glibc
internal import RFC1808
internal import SchemeRegistry
internal import UserFiles

/// A change that a rule makes to a link before it is opened.
enum LinkChange: Sendable, Hashable {
    /// Replaces what a regular expression matches.
    case rewritten(LinkSubstitution)
    /// Removes the parameters of the query whose names match.
    case without([LinkGlob])

    /// Maximum length of a link that is changed, in bytes. A hostile expression takes some milliseconds for so many.
    static let maximumLength = 2048

    /// Returns the changed link, which is read again as any other.
    ///
    /// - Throws: why the link cannot be changed, worded to follow the rule.
    func changed(_ url: GenericURL) throws(LinkChangeError) -> GenericURL {
        let text = url.description
        guard text.utf8.count <= Self.maximumLength else { throw LinkChangeError("changes no link of that length") }
        let changed =
            switch self {
            case .rewritten(let substitution): try substitution.applied(to: text)
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
    private let expression: Expression
    private let pieces: [Piece]
    private let isForAll: Bool

    private enum Piece: Sendable, Hashable {
        case text([UInt8])
        case group(Int, isDecoded: Bool)
    }

    /// Maximum length of a pattern, in bytes.
    static let maximumLength = 256
    /// Maximum of the product of the largest counts of repetition in a pattern, such as the 4 in `{2,4}`. The expression
    /// grows with it.
    static let maximumRepetition = 100

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
        try Self.check(Array(parts[0]))
        expression = try Expression(
            String(decoding: parts[0], as: UTF8.self),
            ignoringCase: parts[2].contains(UInt8(ascii: "i"))
        )
        pieces = try Self.pieces(parts[1], groups: expression.groups)
    }

    /// Refuses what would let an expression take long: references back, and large numbers of repetitions.
    private static func check(_ pattern: [UInt8]) throws(LinkSyntaxError) {
        guard !pattern.isEmpty, pattern.count <= maximumLength else {
            throw LinkSyntaxError("the regular expression is empty, or has more than \(maximumLength) bytes")
        }
        var index = 0
        var repetition = 1
        while index < pattern.count {
            let byte = pattern[index]
            if byte == UInt8(ascii: "\\"), index + 1 < pattern.count {
                if (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(pattern[index + 1]) {
                    throw LinkSyntaxError("the regular expression refers back to a group, which may take too long")
                }
                index += 1
            } else if byte == UInt8(ascii: "{") {
                let counts = pattern[(index + 1)...].prefix { $0 != UInt8(ascii: "}") }
                    .split(separator: UInt8(ascii: ",")).map { Int(String(decoding: $0, as: UTF8.self)) ?? .max }
                let (product, overflows) = repetition.multipliedReportingOverflow(by: max(1, counts.max() ?? 1))
                guard !overflows, product <= maximumRepetition else {
                    throw LinkSyntaxError(
                        "the regular expression repeats something more than \(maximumRepetition) times; write * or +"
                    )
                }
                repetition = product
            }
            index += 1
        }
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
    func applied(to text: String) throws(LinkChangeError) -> String {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        repeat {
            guard let match = expression.firstMatch(in: rest, isStart: rest.startIndex == 0) else { break }
            result += rest[..<match.whole.lowerBound]
            for piece in pieces {
                switch piece {
                case .text(let bytes): result += bytes
                case .group(let number, let isDecoded):
                    let group = number == 0 ? match.whole : match.groups[number - 1]
                    guard let group else { continue }
                    result += isDecoded ? Self.decoded(rest[group]) : Array(rest[group])
                }
            }
            guard result.count <= 4 * LinkChange.maximumLength else {
                throw LinkChangeError("makes a link of more than \(4 * LinkChange.maximumLength) bytes")
            }
            if match.whole.isEmpty {
                // An expression that matches nothing would match at the same place again.
                guard match.whole.lowerBound < rest.endIndex else {
                    rest = []
                    break
                }
                result.append(rest[match.whole.lowerBound])
                rest = rest[(match.whole.lowerBound + 1)...]
            } else {
                rest = rest[match.whole.upperBound...]
            }
        } while isForAll && !rest.isEmpty
        return String(decoding: result + rest, as: UTF8.self)
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

/// A compiled regular expression of the C library.
///
/// It is unchecked Sendable because nothing changes the expression after it was compiled, and because regexec(3) may be
/// called with one expression in several threads at once (POSIX).
private final class Expression: @unchecked Sendable {
    private let compiled = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
    /// The number of groups.
    let groups: Int

    struct Match {
        let whole: Range<Int>
        /// The first nine groups; nil for one that did not take part.
        let groups: [Range<Int>?]
    }

    init(_ pattern: String, ignoringCase: Bool) throws(LinkSyntaxError) {
        compiled.initialize(to: regex_t())
        let status = regcomp(compiled, pattern, REG_EXTENDED | (ignoringCase ? REG_ICASE : 0))
        guard status == 0 else {
            var message = [CChar](repeating: 0, count: 128)
            regerror(status, compiled, &message, message.count)
            compiled.deallocate()
            let text = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw LinkSyntaxError("the regular expression '\(printable(pattern))' cannot be used: \(text)")
        }
        groups = Int(compiled.pointee.re_nsub)
    }

    deinit {
        regfree(compiled)
        compiled.deallocate()
    }

    func firstMatch(in text: ArraySlice<UInt8>, isStart: Bool) -> Match? {
        let string = text.map { CChar(bitPattern: $0) } + [0]
        var matches = [regmatch_t](repeating: regmatch_t(), count: 10)
        guard regexec(compiled, string, matches.count, &matches, isStart ? 0 : REG_NOTBOL) == 0 else { return nil }
        let ranges = matches.map { match in
            match.rm_so < 0 ? nil : (text.startIndex + Int(match.rm_so))..<(text.startIndex + Int(match.rm_eo))
        }
        guard let whole = ranges[0] else { return nil }
        return Match(whole: whole, groups: Array(ranges[1...]))
    }
}
