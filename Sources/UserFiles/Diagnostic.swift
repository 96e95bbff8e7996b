/// A problem that was found in a file: the file, the key and the reason.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// A problem's consequence.
    public enum Severity: Sendable, Hashable {
        /// The file is not used.
        case error
        /// The file is used, except for the part with the problem.
        case warning
    }

    /// A kind of problem that has consequences of its own.
    public enum Kind: Sendable, Hashable {
        /// A line is not valid in the file's format. Other programs may then ignore the whole file.
        case malformedLine
        /// A group, or a key in a group, appears twice.
        case repetition
    }

    /// The consequence of the problem.
    public var severity: Severity
    /// The kind of the problem; `nil` if it has no consequences of its own.
    public var kind: Kind?
    /// The path of the file or directory, as it was given to the code that read it.
    public var file: String
    /// The line in the file, counted from 1; `nil` if it is not known.
    public var line: Int?
    /// The key's path, such as `CFBundleURLTypes[1].CFBundleURLSchemes[0]`; `nil` for a problem with the whole file.
    public var key: String?
    /// The reason, worded to follow the key.
    public var reason: String

    /// Creates a diagnostic about a file, or about one of its keys.
    public init(
        severity: Severity,
        kind: Kind? = nil,
        file: String,
        line: Int? = nil,
        key: String? = nil,
        reason: String
    ) {
        self.severity = severity
        self.kind = kind
        self.file = file
        self.line = line
        self.key = key
        self.reason = reason
    }

    /// `file: key: reason`, or `file:line: key: reason`. The file's name is in printable ASCII.
    public var description: String {
        [printable(file) + (line.map { ":\($0)" } ?? ""), key, reason].compactMap { $0 }.joined(separator: ": ")
    }
}
