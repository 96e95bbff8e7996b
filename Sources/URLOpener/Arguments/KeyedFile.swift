/// A `key=file` on the command line, in which `-` is one of the command's standard streams.
package struct KeyedFile: Sendable, Hashable {
    package let key: String
    /// The path of the file; nil for the standard stream.
    package let path: String?

    package init(key: String, path: String?) {
        self.key = key
        self.path = path
    }
}
