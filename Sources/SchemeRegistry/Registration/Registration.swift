public import UserFiles

/// What a registration did.
public struct Registration: Sendable, Hashable {
    /// What changed in the user's directory.
    public enum Change: Sendable, Hashable {
        /// The id had no handler before.
        case added
        /// The id had this handler already; nothing was touched.
        case unchanged
        /// The id had another handler, at this path; it may be one of a system directory, which is still there.
        case replaced(path: String)
    }

    /// The handler as it is registered now.
    public let handler: Handler
    /// What changed.
    public let change: Change
    /// The schemes that others claim as well. Which handler wins is for the registry's rules, not for the last to come.
    public let conflicts: [Conflict]
    /// What the manifest asks for and does not get, such as a fixed scheme.
    public var warnings: [Diagnostic]
}

/// Why a handler was not registered.
///
/// Nothing has changed then, except where the disk itself failed.
public enum RegistrationError: Error, Hashable, CustomStringConvertible {
    /// The path does not start at the root; whose working directory it is relative to is not known here.
    case relativePath(String)
    /// The path holds a NUL byte.
    case pathHoldsNUL
    /// Its name ends neither in `.app` nor in `.plist`.
    case notAHandler(String)
    /// The manifest is wrong.
    case invalid([Diagnostic])
    /// The id is that of a fixed system handler.
    case fixedHandler(BundleIdentifier)
    /// A file or directory of the user's own declares the id; only links are ever replaced.
    case occupied(entry: String)
    /// There is no user's directory: neither `XDG_DATA_HOME` nor `HOME` is an absolute path.
    case noUserDirectory
    /// The system refused to change the directory.
    case fileSystem(path: String, reason: String)

    /// What is wrong and what to do.
    public var description: String {
        switch self {
        case .relativePath(let path): "\(printable(path)) is a relative path; give an absolute one"
        case .pathHoldsNUL: "the path holds a NUL byte"
        case .notAHandler(let path):
            "\(printable(path)) is neither a bundle (Name.app) nor a manifest (Name.plist); register one of these"
        case .invalid(let diagnostics): diagnostics.map(\.description).joined(separator: "\n")
        case .fixedHandler(let id): "\(id) is a fixed system handler; choose another CFBundleIdentifier"
        case .occupied(let entry):
            "\(printable(entry)) declares this id and is no link; move it away, then register again"
        case .noUserDirectory:
            "there is no user's directory for handlers; set HOME or XDG_DATA_HOME to an absolute path"
        case .fileSystem(let path, let reason): "\(printable(path)): \(reason)"
        }
    }
}

/// Why a handler was not unregistered.
///
/// Nothing has changed then, except where the disk itself failed.
public enum UnregistrationError: Error, Hashable, CustomStringConvertible {
    /// No directory declares the id.
    case unknown(BundleIdentifier)
    /// Only a system directory declares the id.
    case systemHandler(BundleIdentifier, entry: String)
    /// The user's directory declares it by a file or directory of its own, which is not removed.
    case notALink(entry: String)
    /// The system refused to change the directory.
    case fileSystem(path: String, reason: String)

    /// What is wrong and what to do.
    public var description: String {
        switch self {
        case .unknown(let id): "no handler is registered as \(id); `openurl list` shows all that are"
        case .systemHandler(let id, let entry):
            "\(id) is installed for all users, as \(printable(entry)); only who administers the system can remove it"
        case .notALink(let entry): "\(printable(entry)) is no link that a registration made; delete it yourself"
        case .fileSystem(let path, let reason): "\(printable(path)): \(reason)"
        }
    }
}
