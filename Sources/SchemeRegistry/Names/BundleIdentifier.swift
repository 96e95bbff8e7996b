internal import UserFiles

/// The reverse-DNS name of a handler, which is also its D-Bus bus name.
///
/// An identifier has at least two elements separated by dots, and at most 255 bytes. Each element consists of
/// `[A-Za-z0-9_-]` and does not begin with a digit. These are the rules for bus names of the D-Bus specification,
/// "Valid Names". Identifiers are case-sensitive, as on the bus.
public struct BundleIdentifier: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The identifier as written.
    public let rawValue: String

    /// The maximum length of an identifier, in bytes.
    public static let maximumLength = 255

    /// The error of a text that is not a bundle identifier.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text has more than ``BundleIdentifier/maximumLength`` bytes.
        case tooLong(Int)
        /// The text has fewer than two elements.
        case noDot
        /// The text has an empty element: two dots in a row, or a dot at the beginning or at the end.
        case emptyElement
        /// An element begins with a digit.
        case leadingDigit(element: String)
        /// The text contains a character outside `[A-Za-z0-9_.-]`.
        case forbiddenCharacter(Unicode.Scalar)
        /// The text is the name of the bus itself or of the router, which no handler can own.
        case reserved

        /// The error as text that follows the name of the key.
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

    /// The bus would refuse both names to a handler. A D-Bus service file for such a handler would also replace the
    /// router's service file.
    private static let reserved: Set<String> = ["org.freedesktop.DBus", routerName]

    /// The beginnings of names that only a handler of the system's directories may have: those of this system's own
    /// handlers, and those of the services that every desktop relies on. The programs of a vendor need no reservation:
    /// where they are installed, their service files keep their names.
    static let systemPrefixes = ["org.openurl.", "org.freedesktop."]

    /// The router's bus name.
    static let routerName = "org.openurl.Router1"

    /// Checks a text and stores it unchanged.
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
/// The pattern `com.acme.*` matches `com.acme.todolist` and `com.acme.todolist.helper`, but not `com.acme`.
public struct SourcePattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as written.
    public let rawValue: String

    /// Checks a pattern. The part before a final `.*` follows the rules for the elements of an identifier.
    public init(_ text: String) throws(BundleIdentifier.ParseError) {
        if text != "*" {
            // The prefix may consist of one element (`com.*`), although `com` alone is not an identifier.
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
