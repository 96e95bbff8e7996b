internal import UserFiles

/// A handler's reverse-DNS name, which is also its D-Bus bus name.
///
/// It has at least two elements separated by dots, and at most 255 bytes. Each element consists of characters from
/// `[A-Za-z0-9_-]` and does not begin with a digit. These are the rules for bus names in the D-Bus specification,
/// "Valid Names". As on the bus, case matters.
public struct BundleIdentifier: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The identifier as written.
    public let rawValue: String

    /// Maximum length of an identifier, in bytes.
    public static let maximumLength = 255

    /// Thrown for a string that is not a bundle identifier.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is longer than ``BundleIdentifier/maximumLength``.
        case tooLong(Int)
        /// The text has fewer than two elements.
        case noDot
        /// There is an empty element: two dots in a row, or a dot at the beginning or at the end.
        case emptyElement
        /// An element begins with a digit.
        case leadingDigit(element: String)
        /// The text contains a character outside `[A-Za-z0-9_.-]`.
        case forbiddenCharacter(Unicode.Scalar)
        /// This is the name of the bus itself or of the router, which no handler can own.
        case reserved

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .tooLong(let length): "has \(length) bytes; a bundle identifier may have at most \(maximumLength)"
            case .noDot: "needs at least two elements, as in com.example.app"
            case .emptyElement: "has an empty element"
            case .leadingDigit(let element): "has an element that starts with a digit: \(element)"
            case .forbiddenCharacter(let scalar):
                "contains \(printable(scalar)); a bundle identifier is made of letters, digits, '-', '_' and '.'"
            case .reserved: "is the bus name of the bus itself or of the router"
            }
        }
    }

    /// Names that the bus would not give to a handler. Besides, the D-Bus service file of a handler with the router's
    /// name would replace the router's own.
    private static let reserved: Set<String> = ["org.freedesktop.DBus", routerName]

    /// The beginnings of names that only a handler in the system's directories may have: the names of this system's own
    /// handlers, and those of the services on which every desktop relies. A vendor's programs need no reservation:
    /// where they are installed, their service files reserve their names.
    static let systemPrefixes = ["org.openurl.", "org.freedesktop."]

    /// The router's bus name.
    static let routerName = "org.openurl.Router1"

    /// Checks a string and stores it unchanged.
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

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The text itself.
    public var description: String { rawValue }
}

/// A pattern for the senders of URLs: one bundle identifier, all identifiers below a prefix (`com.acme.*`), or all
/// (`*`).
///
/// For example, `com.acme.*` matches `com.acme.todolist` and `com.acme.todolist.helper`, but not `com.acme`.
public struct SourcePattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as written.
    public let rawValue: String

    /// Checks a pattern. Everything before a final `.*` follows the rules for an identifier's elements.
    public init(_ text: String) throws(BundleIdentifier.ParseError) {
        if text != "*" {
            // The prefix may be a single element (`com.*`), although `com` itself is not an identifier.
            let identifier = text.hasSuffix(".*") ? text.dropLast() + "x" : text[...]
            _ = try BundleIdentifier(String(identifier))
        }
        rawValue = text
    }

    /// Returns whether the pattern matches a sender.
    public func matches(_ source: BundleIdentifier) -> Bool {
        rawValue.hasSuffix("*") ? source.rawValue.hasPrefix(rawValue.dropLast()) : source.rawValue == rawValue
    }

    /// The text itself.
    public var description: String { rawValue }
}
