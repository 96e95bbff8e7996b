internal import UserFiles

/// A URL's scheme, in lower case.
///
/// The grammar is `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` from RFC 3986 section 3.1, with at most 64 bytes. Case
/// does not matter (RFC 1738 section 2.1), so `HTTP` and `http` are the same value.
public struct Scheme: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The scheme in lower case.
    public let rawValue: String

    /// Maximum length of a scheme that a handler can claim, in bytes.
    public static let maximumLength = 64

    /// The scheme for answers to the router's calls. No handler can claim it.
    public static let reply = Scheme(checked: "openurl-reply")

    /// Thrown for a string that is not a scheme.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is empty.
        case empty
        /// The text is longer than ``Scheme/maximumLength``.
        case tooLong(Int)
        /// The text does not begin with a letter.
        case startsWith(Unicode.Scalar)
        /// The text contains a character outside `[A-Za-z0-9+.-]`.
        case forbiddenCharacter(Unicode.Scalar)

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .tooLong(let length): "has \(length) bytes; a scheme may have at most \(maximumLength)"
            case .startsWith(let scalar): "starts with \(printable(scalar)); a scheme starts with a letter"
            case .forbiddenCharacter(":"): "contains ':'; write only the part of a URL before the ':'"
            case .forbiddenCharacter(let scalar):
                "contains \(printable(scalar)); a scheme is made of letters, digits, '+', '-' and '.'"
            }
        }
    }

    /// Checks a string and stores it in lower case.
    public init(_ text: String) throws(ParseError) {
        guard let first = text.unicodeScalars.first else { throw .empty }
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        for byte in text.utf8 where !Self.isAllowed(byte) {
            throw .forbiddenCharacter(text.unicodeScalars.first { !$0.utf8.allSatisfy(Self.isAllowed) } ?? first)
        }
        guard let byte = text.utf8.first, isLetter(byte) else { throw .startsWith(first) }
        rawValue = text.lowercased()
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: isLetter(byte)
        }
    }

    /// Creates a scheme from a string that is known to be valid and in lower case.
    init(checked rawValue: String) {
        self.rawValue = rawValue
    }

    /// Whether the scheme is that of web pages. Only a fixed handler of the system can claim it.
    var isOfBrowsers: Bool { rawValue == "https" || rawValue == "http" }

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The text itself.
    public var description: String { rawValue }
}
