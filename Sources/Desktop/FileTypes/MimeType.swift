internal import UserFiles

/// A MIME type for files, such as `image/png`, in lower case.
///
/// The type and the subtype are restricted names as in RFC 6838 section 4.2. Case does not matter (RFC 2045 section
/// 5.1). `x-scheme-handler/…` is not one of these, because it stands for a URL's scheme.
public struct MimeType: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The type in lower case.
    public let rawValue: String

    /// Checks a string, and stores it in lower case; `nil` if it is not a type for files.
    public init?(_ text: String) {
        guard let type = validMimeType(text), !type.hasPrefix(schemeHandlerPrefix) else { return nil }
        rawValue = type
    }

    private init(known: String) {
        rawValue = known
    }

    /// Bytes without any structure. All files except those with an `inode` type are of this type too.
    public static let octetStream = MimeType(known: "application/octet-stream")
    /// Text without any structure. All text is of this type too.
    public static let plainText = MimeType(known: "text/plain")
    /// A directory.
    public static let directory = MimeType(known: "inode/directory")

    /// Whether the type is for objects in the file system that have no contents to read, such as directories.
    var isInode: Bool { rawValue.hasPrefix("inode/") }

    /// Whether the type is for text.
    var isText: Bool { rawValue.hasPrefix("text/") }

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The type itself.
    public var description: String { rawValue }
}
