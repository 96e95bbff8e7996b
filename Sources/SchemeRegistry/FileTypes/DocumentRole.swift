internal import UserFiles

/// The way in which a handler uses a kind of file (`CFBundleTypeRole`).
public enum DocumentRole: String, Sendable, Hashable, CaseIterable {
    /// Shows and changes the files.
    case editor = "Editor"
    /// Shows the files.
    case viewer = "Viewer"
    /// Runs the files.
    case shell = "Shell"
    /// Makes previews of the files.
    case previewer = "QLGenerator"
    /// Gets no files; the entry only gives the kind a name.
    case none = "None"

    /// Thrown for a string that is not one of these words.
    public struct ParseError: Error, Hashable, CustomStringConvertible {
        let text: String

        /// The error, worded to follow the key's name.
        public var description: String {
            "is '\(printable(text))'; it has to be one of \(DocumentRole.allCases.map(\.rawValue).joined(separator: ", "))"
        }
    }

    /// Parses the value of the key.
    public init(_ text: String) throws(ParseError) {
        guard let role = DocumentRole(rawValue: text) else { throw ParseError(text: text) }
        self = role
    }
}
