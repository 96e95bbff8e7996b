internal import UserFiles

/// A pattern for the paths of links: `*` stands for any characters, also for none and for slashes, and `?` for exactly one
/// character.
///
/// The rest is compared with the decoded path, and case matters. `%2A` and `%3F` stand for the characters themselves.
public struct PathPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as written.
    public let rawValue: String
    private let tokens: [Token]

    /// The pattern for every path.
    public static let all = PathPattern(rawValue: "/*", tokens: [.byte(UInt8(ascii: "/")), .any])

    /// Maximum length of a pattern in bytes.
    public static let maximumLength = 256

    private enum Token: Sendable, Hashable {
        case byte(UInt8)
        case one
        case any
    }

    /// Thrown for a string that is not a pattern.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is longer than ``PathPattern/maximumLength``.
        case tooLong(Int)
        /// The text begins with neither `/` nor `*`.
        case relative
        /// The text has a character that cannot be in a path as it is.
        case forbiddenCharacter(Unicode.Scalar)
        /// No path that is for apps matches the pattern.
        case path(LinkPath.Refusal)

        /// The error, worded to follow the pattern.
        public var description: String {
            switch self {
            case .tooLong(let count): "has \(count) bytes; a pattern may have at most \(maximumLength)"
            case .relative: "does not begin with '/' or '*'"
            case .forbiddenCharacter(let scalar): "contains \(printable(scalar)), which must be escaped in a path"
            case .path(let refusal): "matches no link, because it \(refusal)"
            }
        }
    }

    private init(rawValue: String, tokens: [Token]) {
        self.rawValue = rawValue
        self.tokens = tokens
    }

    /// Checks a pattern.
    public init(_ text: String) throws(ParseError) {
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        guard let first = text.utf8.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "*") else {
            throw .relative
        }
        for scalar in text.unicodeScalars
        where !scalar.isASCII || scalar.value <= 0x20 || scalar == "\u{7F}"
            || "#\"<>\\^`{|};".unicodeScalars.contains(scalar)
        {
            throw .forbiddenCharacter(scalar)
        }
        do throws(LinkPath.Refusal) {
            tokens = try Self.tokens(of: Array(text.utf8))
        } catch {
            throw .path(error)
        }
        rawValue = text
    }

    /// Decodes the text between the wildcards. An escaped wildcard is a character like any other.
    private static func tokens(of text: [UInt8]) throws(LinkPath.Refusal) -> [Token] {
        var tokens: [Token] = []
        // An ASCII character in place of each wildcard shows how the segments are divided.
        var sample: [UInt8] = []
        var rest = text[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "*"):
                if tokens.last != .any { tokens.append(.any) }
                sample.append(UInt8(ascii: "x"))
                rest.removeFirst()
            case UInt8(ascii: "?"):
                tokens.append(.one)
                sample.append(UInt8(ascii: "x"))
                rest.removeFirst()
            default:
                let literal = rest.prefix { $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") }
                let decoded = try LinkPath.decoded(Array(literal))
                tokens += decoded.map(Token.byte)
                sample += decoded
                rest = rest.dropFirst(literal.count)
            }
        }
        try LinkPath.checkSegments(sample.first == UInt8(ascii: "/") ? sample : [UInt8(ascii: "/")] + sample)
        return tokens
    }

    /// The number of characters that are not wildcards. If two patterns match a path, the one with more of them is narrower.
    public var length: Int { tokens.count { if case .byte = $0 { true } else { false } } }

    /// Returns whether the whole path matches.
    ///
    /// This takes time proportional to the lengths of the path and of the pattern, multiplied.
    ///
    /// - Parameter ignoresCase: whether an ASCII letter also matches its other case.
    public func matches(_ path: LinkPath, ignoringCase ignoresCase: Bool = false) -> Bool {
        let bytes = path.bytes
        var (position, token) = (0, 0)
        // After a mismatch, only the last `*` takes more: an earlier one could not do better.
        var retry: (position: Int, token: Int)?
        while position < bytes.count {
            if token < tokens.count {
                switch tokens[token] {
                case .any:
                    token += 1
                    retry = (position, token)
                    continue
                case .one:
                    position = Self.next(position, in: bytes)
                    token += 1
                    continue
                case .byte(let byte):
                    if byte == bytes[position] || ignoresCase && Self.isSameLetter(byte, bytes[position]) {
                        position += 1
                        token += 1
                        continue
                    }
                }
            }
            guard let last = retry else { return false }
            position = Self.next(last.position, in: bytes)
            token = last.token
            retry = (position, token)
        }
        return tokens[token...].allSatisfy { $0 == .any }
    }

    /// Returns the position after a character, which may have several bytes.
    private static func next(_ position: Int, in bytes: [UInt8]) -> Int {
        var next = position + 1
        while next < bytes.count, bytes[next] & 0xC0 == 0x80 { next += 1 }
        return next
    }

    private static func isSameLetter(_ first: UInt8, _ second: UInt8) -> Bool {
        first | 0x20 == second | 0x20 && isLetter(first)
    }

    /// Whether two patterns are written the same.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }

    /// Hashes the pattern as it is written.
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// The pattern itself.
    public var description: String { rawValue }
}
