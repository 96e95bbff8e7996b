internal import UserFiles

/// The use that a handler makes of a kind of file (`CFBundleTypeRole`).
public enum DocumentRole: String, Sendable, Hashable, CaseIterable {
    /// The handler shows and changes the files.
    case editor = "Editor"
    /// The handler shows the files.
    case viewer = "Viewer"
    /// The handler runs the files.
    case shell = "Shell"
    /// The handler makes previews of the files.
    case previewer = "QLGenerator"
    /// The handler gets no files; the entry only names the kind.
    case none = "None"

    /// The error of a text that is not one of the words.
    public struct ParseError: Error, Hashable, CustomStringConvertible {
        let text: String

        /// The error as text that follows the name of the key.
        public var description: String {
            "is '\(printable(text))'; it has to be \(DocumentRole.allCases.map(\.rawValue).joined(separator: ", "))"
        }
    }

    /// Parses the value of the key.
    public init(_ text: String) throws(ParseError) {
        guard let role = DocumentRole(rawValue: text) else { throw ParseError(text: text) }
        self = role
    }
}
