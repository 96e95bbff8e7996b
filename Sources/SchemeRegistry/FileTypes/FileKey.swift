public import Desktop

/// A property by which a handler claims files.
public enum FileKey: Sendable, Hashable, CustomStringConvertible {
    /// The file's MIME type.
    case type(MimeType)
    /// An extension of the file's name.
    case filenameExtension(FilenameExtension)

    /// The MIME type, or a pattern of names such as `*.todo`.
    public var description: String {
        switch self {
        case .type(let type): type.rawValue
        case .filenameExtension(let end): "*.\(end)"
        }
    }
}
