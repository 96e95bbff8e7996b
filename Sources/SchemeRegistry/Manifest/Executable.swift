/// A handler's program (`CFBundleExecutable`).
///
/// It is a file name and never a shell command: spaces and quotes are part of the name.
public enum Executable: Sendable, Hashable, CustomStringConvertible {
    /// An absolute path.
    case absolute(String)
    /// A path with a slash, relative to the bundle, or to a bare manifest's directory. It has no `..`.
    case relative(String)
    /// A name without a slash: a file in the bundle or, for a bare manifest, a program that is looked up on `PATH` at
    /// launch.
    case name(String)

    /// Thrown for a string that is not a valid program name.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is empty.
        case empty
        /// The path is a directory's: `.`, `..` or a path with a slash at the end.
        case directory
        /// The path is relative and contains `..`.
        case leavesBundle

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .directory: "is a directory, not a program; give the file in it"
            case .leavesBundle: "leads out of the handler's directory with '..'; give an absolute path"
            }
        }
    }

    /// Parses the value of the key.
    public init(_ text: String) throws(ParseError) {
        guard !text.isEmpty else { throw .empty }
        let components = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Substring.init)
        if let last = components.last, last.isEmpty || last == "." || last == ".." { throw .directory }
        if text.utf8.first == UInt8(ascii: "/") {
            self = .absolute(text)
        } else if components.contains("..") {
            throw .leavesBundle
        } else {
            self = components.count == 1 ? .name(text) : .relative(text)
        }
    }

    /// Whether this is a path below the handler's directory.
    var isRelative: Bool {
        if case .relative = self { true } else { false }
    }

    /// The key's value.
    public var description: String {
        switch self {
        case .absolute(let text), .relative(let text), .name(let text): text
        }
    }
}
