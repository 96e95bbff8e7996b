internal import UserFiles

/// The reverse-DNS name of a handler, which is its D-Bus bus name too.
///
/// At least two elements separated by dots, each of `[A-Za-z0-9_-]` and none starting with a digit, 255 bytes at most:
/// the bus names of the D-Bus specification, "Valid Names". Upper and lower case differ, as they do on the bus.
public struct BundleIdentifier: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The identifier as it was written.
    public let rawValue: String

    /// The longest identifier, in bytes.
    public static let maximumLength = 255

    /// What is wrong with a text that is no bundle identifier.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// More bytes than ``BundleIdentifier/maximumLength``.
        case tooLong(Int)
        /// One element only, or none.
        case noDot
        /// Two dots in a row, or one at either end.
        case emptyElement
        /// An element that starts with a digit.
        case leadingDigit(element: String)
        /// A character outside `[A-Za-z0-9_.-]`.
        case forbiddenCharacter(Unicode.Scalar)
        /// The name of the bus itself or of the router, which no handler can own.
        case reserved

        /// The mistake as a message says it after the name of the key.
        public var description: String {
            switch self {
            case .tooLong(let length): "has \(length) bytes; a bundle identifier has at most \(maximumLength)"
            case .noDot: "needs at least two elements, as in com.example.app"
            case .emptyElement: "has an empty element"
            case .leadingDigit(let element): "has an element that starts with a digit: \(element)"
            case .forbiddenCharacter(let scalar):
                "holds \(printable(scalar)); a bundle identifier is made of letters, digits, '-', '_' and '.'"
            case .reserved: "is the bus name of the bus itself or of the router"
            }
        }
    }

    /// The bus would let a handler have neither, and a service file for it would stand in for the router's.
    private static let reserved: Set<String> = ["org.freedesktop.DBus", routerName]

    /// The router's own name on the bus.
    static let routerName = "org.openurl.Router1"

    /// Checks a text and keeps it unchanged.
    public init(_ text: String) throws(ParseError) {
        guard !Self.reserved.contains(text) else { throw .reserved }
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        for scalar in text.unicodeScalars where !(isNameScalar(scalar) || scalar == ".") {
            throw .forbiddenCharacter(scalar)
        }
        let elements = text.split(separator: ".", omittingEmptySubsequences: false)
        guard elements.count > 1 else { throw .noDot }
        for element in elements {
            guard let first = element.utf8.first else { throw .emptyElement }
            if isDigit(first) { throw .leadingDigit(element: String(element)) }
        }
        rawValue = text
    }

    /// Byte order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The text itself.
    public var description: String { rawValue }
}

/// Who may send URLs to a handler: one bundle identifier, everything below a prefix (`com.acme.*`), or anyone (`*`).
///
/// `com.acme.*` matches `com.acme.todolist` and `com.acme.todolist.helper`, not `com.acme` itself.
public struct SourcePattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as it was written.
    public let rawValue: String

    /// Checks a pattern; what stands before a final `.*` follows the rules of an identifier's elements.
    public init(_ text: String) throws(BundleIdentifier.ParseError) {
        if text != "*" {
            // A prefix of one element (`com.*`) is a pattern, though `com` alone is no identifier.
            let identifier = text.hasSuffix(".*") ? text.dropLast() + "x" : text[...]
            _ = try BundleIdentifier(String(identifier))
        }
        rawValue = text
    }

    /// Whether the pattern covers this sender.
    public func matches(_ source: BundleIdentifier) -> Bool {
        rawValue.hasSuffix("*") ? source.rawValue.hasPrefix(rawValue.dropLast()) : source.rawValue == rawValue
    }

    /// The text itself.
    public var description: String { rawValue }
}
