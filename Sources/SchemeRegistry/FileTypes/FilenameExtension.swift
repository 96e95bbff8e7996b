internal import UserFiles

/// The end of a file's name after a dot, such as `todo` or `tar.gz`, without the dot.
///
/// Extensions are compared without regard to the case of ASCII letters.
public struct FilenameExtension: Sendable, Hashable, CustomStringConvertible {
    /// The extension; its ASCII letters are in lower case.
    public let rawValue: String

    /// Maximum length of an extension, in bytes.
    public static let maximumLength = 64

    /// Thrown for a string that is not an extension.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is empty.
        case empty
        /// The text is longer than ``FilenameExtension/maximumLength``.
        case tooLong(Int)
        /// The text begins or ends with a dot.
        case outerDot
        /// The text contains a slash, a control character or a pattern's special character.
        case forbiddenCharacter(Unicode.Scalar)

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .tooLong(let length): "has \(length) bytes; an extension may have at most \(maximumLength)"
            case .outerDot: "begins or ends with '.'; an extension is written without the dot"
            case .forbiddenCharacter(let scalar):
                "contains \(printable(scalar)); an extension is the end of a file's name"
            }
        }
    }

    /// Checks a string, and stores it in lower case.
    public init(_ text: String) throws(ParseError) {
        guard let first = text.utf8.first, let last = text.utf8.last else { throw .empty }
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        guard first != UInt8(ascii: "."), last != UInt8(ascii: ".") else { throw .outerDot }
        for scalar in text.unicodeScalars where isControl(scalar) || "/*?[]\\".unicodeScalars.contains(scalar) {
            throw .forbiddenCharacter(scalar)
        }
        rawValue = asciiLowercased(text)
    }

    /// Returns the extensions in a file's name, the longest first: `tar.gz`, then `gz`.
    ///
    /// A dot at the beginning hides the file, and begins no extension.
    static func all(inName name: String) -> [FilenameExtension] {
        var extensions: [FilenameExtension] = []
        var rest = name.dropFirst()
        while let dot = rest.firstIndex(of: "."), extensions.count < 8 {
            rest = rest[rest.index(after: dot)...]
            do throws(ParseError) {
                extensions.append(try FilenameExtension(String(rest)))
            } catch {
                // Names may end in anything, and most endings are not extensions.
                continue
            }
        }
        return extensions
    }

    /// The text itself.
    public var description: String { rawValue }
}
