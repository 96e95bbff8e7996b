internal import UserFiles

/// Where handlers are declared, in order of precedence: the user's directory, then the system's.
public struct RegistryDirectories: Sendable, Hashable {
    /// Whose directory it is.
    public enum Scope: Sendable, Hashable {
        /// The user's own: registrations go here, and `OUFixed` does not count.
        case user
        /// One that the system provides.
        case system
    }

    /// The user's directory; `nil` if the environment gives neither `XDG_DATA_HOME` nor `HOME`.
    public let user: String?
    /// The system's directories.
    public let system: [String]

    /// The place of handlers below a data directory.
    public static let subdirectory = "openurl/handlers"

    /// The directories of the XDG Base Directory Specification: `$XDG_DATA_HOME` or `$HOME/.local/share`, then each of
    /// `$XDG_DATA_DIRS` or `/usr/local/share:/usr/share`.
    ///
    /// An empty variable counts as unset and a relative path is ignored, as the specification says. A directory that is
    /// named twice counts where it stands first.
    ///
    /// - Parameters:
    ///   - environment: the variables, those of the session and never a caller's.
    ///   - additional: one more system directory, complete, after the others: the one of the router's own installation.
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

    /// Directories given one by one, as tests need them.
    public init(user: String?, system: [String]) {
        self.user = user
        self.system = system
    }

    /// All of them in order of precedence.
    var all: [(path: String, scope: Scope)] {
        [user].compactMap { $0 }.map { ($0, .user) } + system.map { ($0, .system) }
    }
}
