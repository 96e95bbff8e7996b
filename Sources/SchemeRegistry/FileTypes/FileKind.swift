public import Desktop

/// The properties by which handlers and applications claim a file.
public struct FileKind: Sendable, Hashable {
    /// The file's MIME type, under its current name.
    public let type: MimeType
    /// The properties, the narrowest first.
    ///
    /// If the file's name determines its type, the type comes before the name's extensions. Otherwise the extensions
    /// come first, because a handler that claims them is better evidence than a guess from the contents. Wider types
    /// come last.
    let keys: [FileKey]

    /// Creates the properties of a file.
    ///
    /// - Parameters:
    ///   - guess: the file's types.
    ///   - name: the file's name without its directory; empty if only the type is known.
    public init(_ guess: FileTypeGuess, name: String) {
        type = guess.type
        let types = guess.types.map(FileKey.type)
        let extensions =
            guess.type == .directory ? [] : FilenameExtension.all(inName: name).map(FileKey.filenameExtension)
        let own = guess.isByName ? 1 : 0
        keys = types.prefix(own) + extensions + types.dropFirst(own)
    }
}
