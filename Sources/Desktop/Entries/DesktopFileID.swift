internal import UserFiles

/// A desktop file ID: the name by which the desktop knows an application, such as `org.gnome.Maps.desktop`.
///
/// It is the entry's path below its `applications` directory, with `-` in place of `/` (Desktop Entry Specification,
/// "Desktop File ID"). Case matters. IDs are ordered by their bytes, which is how desktops order entries that nothing
/// else distinguishes.
public struct DesktopFileID: Sendable, Hashable, Comparable, CustomStringConvertible, RawRepresentable {
    /// The ID's text, which ends in `.desktop`.
    public let rawValue: String

    /// Maximum length of an ID, in bytes.
    public static let limit = 1024

    /// The end of every ID. Apart from ``text(ofName:)`` and ``name(in:)``, only code that compares bytes needs it.
    package static let suffix = ".desktop"

    /// Creates an ID; `nil` unless the text ends in `.desktop`, has something before this suffix, is short enough, and
    /// contains neither `/` nor control characters.
    public init?(rawValue: String) {
        guard rawValue.hasSuffix(Self.suffix), rawValue.utf8.count > Self.suffix.utf8.count,
            rawValue.utf8.count <= Self.limit, !rawValue.utf8.contains(UInt8(ascii: "/")),
            !rawValue.unicodeScalars.contains(where: isControl)
        else { return nil }
        self.rawValue = rawValue
    }

    /// Creates the ID of the entry with this name, such as a handler's identifier; `nil` in the same cases as
    /// ``init(rawValue:)``.
    package init?(name: String) {
        self.init(rawValue: Self.text(ofName: name))
    }

    /// Returns the ID, as text, of the entry with this name. If the name is invalid, no entry has this ID.
    package static func text(ofName name: String) -> String { name + suffix }

    /// Returns the name in an ID's text; `nil` if the text cannot be an ID, as is the case for a handler's identifier.
    package static func name(in text: String) -> String? {
        text.hasSuffix(suffix) ? String(text.dropLast(suffix.count)) : nil
    }

    /// The name of the entry: the ID without its suffix.
    package var name: String { String(rawValue.dropLast(Self.suffix.count)) }

    /// Creates the ID of the entry at a relative path, given by its components.
    init?(path: some Sequence<String>) {
        self.init(rawValue: path.joined(separator: "-"))
    }

    /// The ID's text.
    public var description: String { rawValue }

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.precedesInByteOrder(right.rawValue.utf8)
    }
}
