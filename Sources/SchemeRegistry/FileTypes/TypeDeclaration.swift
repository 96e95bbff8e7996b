public import Desktop

/// An entry of `UTExportedTypeDeclarations` or `UTImportedTypeDeclarations`: a type that the manifest describes.
public struct TypeDeclaration: Sendable, Hashable {
    /// `UTTypeIdentifier`: the type.
    public var identifier: TypeIdentifier
    /// `UTTypeConformsTo`: the wider types.
    public var conformsTo: [TypeIdentifier] = []
    /// `public.mime-type` in `UTTypeTagSpecification`: the files' MIME types.
    public var mimeTypes: [MimeType] = []
    /// `public.filename-extension` in `UTTypeTagSpecification`: the extensions of the files' names.
    public var filenameExtensions: [FilenameExtension] = []

    /// Creates a declaration that says nothing about the type.
    public init(_ identifier: TypeIdentifier) {
        self.identifier = identifier
    }
}
