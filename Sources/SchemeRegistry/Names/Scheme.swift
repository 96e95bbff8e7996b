internal import UserFiles

/// The scheme of a URL, in lower case.
///
/// `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` of RFC 3986 section 3.1, 64 bytes at most. Schemes are compared without
/// case (RFC 1738 section 2.1), so `HTTP` and `http` are one value.
public struct Scheme: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The scheme in lower case.
    public let rawValue: String

    /// The longest scheme that a handler can claim, in bytes.
    public static let maximumLength = 64

    /// What is wrong with a text that is no scheme.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// No character at all.
        case empty
        /// More bytes than ``Scheme/maximumLength``.
        case tooLong(Int)
        /// A first character that is no letter.
        case startsWith(Unicode.Scalar)
        /// A character outside `[A-Za-z0-9+.-]`.
        case forbiddenCharacter(Unicode.Scalar)

        /// The mistake as a message says it after the name of the key.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .tooLong(let length): "has \(length) bytes; a scheme has at most \(maximumLength)"
            case .startsWith(let scalar): "starts with \(printable(scalar)); a scheme starts with a letter"
            case .forbiddenCharacter(let scalar):
                "holds \(printable(scalar)); a scheme is made of letters, digits, '+', '-' and '.'"
            }
        }
    }

    /// Checks a text and keeps it in lower case.
    public init(_ text: String) throws(ParseError) {
        guard let first = text.unicodeScalars.first else { throw .empty }
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        for scalar in text.unicodeScalars
        where !((isNameScalar(scalar) && scalar != "_") || scalar == "+" || scalar == ".") {
            throw .forbiddenCharacter(scalar)
        }
        guard let byte = text.utf8.first, isLetter(byte) else { throw .startsWith(first) }
        rawValue = text.lowercased()
    }

    /// A scheme in lower case that was checked before.
    init(checked rawValue: String) {
        self.rawValue = rawValue
    }

    /// Byte order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The text itself.
    public var description: String { rawValue }
}
