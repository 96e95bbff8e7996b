/// A problem found while loading: which file, which key, and why.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// What follows from a problem.
    public enum Severity: Sendable, Hashable {
        /// What the file declares is not registered.
        case error
        /// It is registered, but not all that it asks for.
        case warning
    }

    /// What follows from the problem.
    public var severity: Severity
    /// The file or directory, as the registry reached it.
    public var file: String
    /// The key as a path, such as `CFBundleURLTypes[1].CFBundleURLSchemes[0]`; `nil` if it is the file as a whole.
    public var key: String?
    /// The reason, to be read after the key.
    public var reason: String

    /// A problem of a file, or of one of its keys.
    public init(severity: Severity, file: String, key: String? = nil, reason: String) {
        self.severity = severity
        self.file = file
        self.key = key
        self.reason = reason
    }

    /// `file: key: reason` in printable ASCII, whatever the file is called.
    public var description: String {
        [printable(file), key, reason].compactMap { $0 }.joined(separator: ": ")
    }
}
