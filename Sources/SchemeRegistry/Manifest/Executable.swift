/// `CFBundleExecutable`: which program a handler is.
///
/// Never a shell line: spaces and quotes are part of a file's name.
public enum Executable: Sendable, Hashable, CustomStringConvertible {
    /// An absolute path.
    case absolute(String)
    /// A path below the bundle, or below the directory of a bare manifest. Holds no `..`.
    case relative(String)
    /// A name without a slash: a file of the bundle, or for a bare manifest one to be found on `PATH` at launch.
    case name(String)

    /// What is wrong with a text that names no program.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// No character at all.
        case empty
        /// A path to a directory: `.`, `..` or a slash at the end.
        case directory
        /// A relative path with `..`.
        case leavesBundle

        /// The mistake as a message says it after the name of the key.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .directory: "names a directory, not a program"
            case .leavesBundle: "leads out of the handler's directory with '..'; give an absolute path"
            }
        }
    }

    /// Reads the value of the key.
    public init(_ text: String) throws(ParseError) {
        guard !text.isEmpty else { throw .empty }
        let components = text.split(separator: "/", omittingEmptySubsequences: false)
        if let last = components.last, last.isEmpty || last == "." || last == ".." { throw .directory }
        if text.hasPrefix("/") {
            self = .absolute(text)
        } else if components.contains("..") {
            throw .leavesBundle
        } else {
            self = components.count == 1 ? .name(text) : .relative(text)
        }
    }

    /// Whether it is a path below the handler's directory.
    var isRelative: Bool {
        if case .relative = self { true } else { false }
    }

    /// The value of the key.
    public var description: String {
        switch self {
        case .absolute(let text), .relative(let text), .name(let text): text
        }
    }
}
