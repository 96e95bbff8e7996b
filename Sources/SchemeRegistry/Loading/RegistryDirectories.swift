internal import UserFiles

/// The directories that declare handlers, in order of precedence: first the user's, then the system's.
public struct RegistryDirectories: Sendable, Hashable {
    /// The kind of place that declares a handler.
    public enum Scope: Sendable, Hashable {
        /// The user's own directory, which holds the registrations. `OUFixed` has no effect there.
        case user
        /// A directory that the system provides.
        case system
        /// No directory, because a router has the handler in memory.
        case memory
    }

    /// The user's directory; `nil` if neither `XDG_DATA_HOME` nor `HOME` gives one.
    public let user: String?
    /// The system's directories.
    public let system: [String]
    /// Whether the directories belong to a package that is being built. In that case, their files may belong to any
    /// user.
    public var isStaged = false

    /// The path of the handlers' directory below a data directory.
    public static let subdirectory = "openurl/handlers"

    /// Creates the directories of the XDG Base Directory Specification: `$XDG_DATA_HOME` or `$HOME/.local/share`, then
    /// each of `$XDG_DATA_DIRS` or `/usr/local/share:/usr/share`.
    ///
    /// According to the specification, an empty variable counts as unset, and a relative path is ignored. If a
    /// directory is listed twice, its first position counts.
    ///
    /// - Parameters:
    ///   - environment: the session's environment variables, never a caller's.
    ///   - additional: the full path of one more system directory, which comes last: the directory in the router's own
    ///     installation.
    public init(environment: [String: String], additional: String? = nil) {
        let base = BaseDirectories(environment: environment)
        let user = base.dataHome.map { normalizedPath("\($0)/\(Self.subdirectory)") }
        var system: [String] = []
        for path in base.dataDirectories.map({ "\($0)/\(Self.subdirectory)" }) + [additional].compactMap({ $0 })
        where path.hasPrefix("/") {
            let path = normalizedPath(path)
            if path != user, !system.contains(path) { system.append(path) }
        }
        self.user = user
        self.system = system
    }

    /// Creates directories from explicit paths, for tests.
    public init(user: String?, system: [String]) {
        self.user = user
        self.system = system
    }

    /// All directories, in order of precedence.
    var all: [(path: String, scope: Scope)] {
        [user].compactMap { $0 }.map { ($0, .user) } + system.map { ($0, .system) }
    }
}
