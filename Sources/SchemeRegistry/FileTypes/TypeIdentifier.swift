internal import UserFiles

/// A uniform type identifier, such as `public.png` or `com.acme.list`.
///
/// It has at least two elements separated by dots, and at most 255 bytes. Each element consists of characters from
/// `[A-Za-z0-9_-]`. Case does not matter in comparisons.
public struct TypeIdentifier: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The identifier in lower case.
    public let rawValue: String

    /// Maximum length of an identifier, in bytes.
    public static let maximumLength = 255

    /// Thrown for a string that is not a type identifier.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is longer than ``TypeIdentifier/maximumLength``.
        case tooLong(Int)
        /// The text has fewer than two elements, or an empty one.
        case missingElement
        /// The text contains a character outside `[A-Za-z0-9_.-]`.
        case forbiddenCharacter(Unicode.Scalar)

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .tooLong(let length): "has \(length) bytes; a type identifier may have at most \(maximumLength)"
            case .missingElement: "needs at least two elements, none of them empty, as in public.png"
            case .forbiddenCharacter(let scalar):
                "contains \(printable(scalar)); a type identifier is made of letters, digits, '-', '_' and '.'"
            }
        }
    }

    /// Checks a string, and stores it in lower case.
    public init(_ text: String) throws(ParseError) {
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        for scalar in text.unicodeScalars where !(isNameScalar(scalar) || scalar == ".") {
            throw .forbiddenCharacter(scalar)
        }
        let elements = text.split(separator: ".", omittingEmptySubsequences: false)
        guard elements.count > 1, elements.allSatisfy({ !$0.isEmpty }) else { throw .missingElement }
        rawValue = asciiLowercased(text)
    }

    /// Creates an identifier from a string that is known to be valid and in lower case.
    init(checked rawValue: String) {
        self.rawValue = rawValue
    }

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The text itself.
    public var description: String { rawValue }
}
