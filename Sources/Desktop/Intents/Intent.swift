internal import ByteCoding
internal import UserFiles

/// The name of an interface that applications implement, such as `org.freedesktop.Terminal1`.
///
/// It follows the rules for D-Bus interfaces: at least two elements of letters, digits and `_`, separated by dots, with
/// at most 255 bytes (Desktop Entry Specification, "Interfaces"). Case matters. Intents are ordered by their bytes.
public struct Intent: Sendable, Hashable, Comparable, CustomStringConvertible, RawRepresentable {
    /// The name's text.
    public let rawValue: String

    /// The intent of a terminal in which a program can be run (Terminal Intent 0.1, a draft).
    public static let terminal = Intent(unchecked: "org.freedesktop.Terminal1")

    /// Creates an intent; `nil` if the text is not the name of an interface.
    public init?(rawValue: String) {
        let elements = rawValue.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard rawValue.utf8.count <= 255, elements.count >= 2, elements.allSatisfy(Self.isElement) else { return nil }
        self.rawValue = rawValue
    }

    private init(unchecked name: String) {
        rawValue = name
    }

    private static func isElement(_ element: Substring.UTF8View) -> Bool {
        guard let first = element.first, !isDigit(first) else { return false }
        return element.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// The name's text.
    public var description: String { rawValue }

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.precedesInByteOrder(right.rawValue.utf8)
    }
}

/// A tag that an application supports within an intent, such as a MIME type or a host.
///
/// Only the intent's specification gives it a meaning. Because it is a key in `intentapps.list` and `intent.cache`, it
/// cannot contain blanks, control characters, `=`, `[` or `]`, or begin with `#`. Scopes are equal if their bytes are,
/// and are ordered by their bytes.
public struct IntentScope: Sendable, Hashable, Comparable, CustomStringConvertible, RawRepresentable {
    /// The scope's text.
    public let rawValue: String

    /// Maximum length of a scope, in bytes.
    public static let limit = 1024

    /// Creates a scope; `nil` if the text cannot be one.
    public init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard let first = bytes.first, first != UInt8(ascii: "#"), bytes.count <= Self.limit,
            bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !Self.reserved.contains($0) }),
            !rawValue.unicodeScalars.contains(where: isControl), !rawValue.hasTooManyMarks
        else { return nil }
        self.rawValue = rawValue
    }

    private static let reserved = [UInt8(ascii: "="), UInt8(ascii: "["), UInt8(ascii: "]")]

    /// The scope's text.
    public var description: String { rawValue }

    /// Compares by bytes, because Swift's strings are also equal if they only look the same.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.utf8.elementsEqual(right.rawValue.utf8) }

    /// Feeds the bytes into a hasher.
    public func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(byte) }
    }

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.precedesInByteOrder(right.rawValue.utf8)
    }
}
