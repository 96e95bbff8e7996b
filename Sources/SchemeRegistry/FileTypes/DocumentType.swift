public import Desktop

/// An entry of `CFBundleDocumentTypes`: a kind of file that a handler opens (app programming guide, “Declaring Your App's
/// Supported Document Types”).
public struct DocumentType: Sendable, Hashable {
    /// `CFBundleTypeName`: the abstract name of the kind.
    public var name: String?
    /// `CFBundleTypeRole`: how the handler uses the files.
    public var role: DocumentRole = .editor
    /// `LSHandlerRank`: the handler's rank among those that open the same kind.
    public var rank: HandlerRank = .default
    /// `LSItemContentTypes`: uniform type identifiers.
    public var contentTypes: [TypeIdentifier] = []
    /// `CFBundleTypeExtensions`: file name extensions.
    public var filenameExtensions: [FilenameExtension] = []
    /// `CFBundleTypeMIMETypes`: MIME types.
    public var mimeTypes: [MimeType] = []

    /// Creates an entry without types.
    public init(name: String? = nil) {
        self.name = name
    }

    /// Whether the handler gets files through this entry.
    var claimsFiles: Bool { role != .none && rank != .none }
}
