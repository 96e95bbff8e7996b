internal import UserFiles

/// A desktop file ID: the name that the desktop knows an application by, such as `org.gnome.Maps.desktop`.
///
/// The path of the entry below its `applications` directory with `-` for `/` (Desktop Entry Specification, "Desktop
/// File ID"). Upper and lower case differ, and the order is that of the bytes, in which desktops list entries that
/// have nothing else to be sorted by.
public struct DesktopFileID: Sendable, Hashable, Comparable, CustomStringConvertible, RawRepresentable {
    /// The ID with `.desktop` at its end.
    public let rawValue: String

    /// The largest ID, in bytes.
    public static let limit = 1024

    package static let suffix = ".desktop"

    /// An ID; `nil` unless it ends in `.desktop`, says something before it, and holds neither `/` nor control characters.
    public init?(rawValue: String) {
        guard rawValue.hasSuffix(Self.suffix), rawValue.utf8.count > Self.suffix.utf8.count,
            rawValue.utf8.count <= Self.limit, !rawValue.utf8.contains(UInt8(ascii: "/")),
            !rawValue.unicodeScalars.contains(where: isControl)
        else { return nil }
        self.rawValue = rawValue
    }

    /// The ID of the entry that a relative path leads to.
    init?(path: some Sequence<String>) {
        self.init(rawValue: path.joined(separator: "-"))
    }

    /// The ID itself.
    public var description: String { rawValue }

    /// Whether the left ID comes first in the order of bytes.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }
}
