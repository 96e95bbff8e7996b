public import UserFiles

/// The result of a registration.
public struct Registration: Sendable, Hashable {
    /// The change to the user's directory.
    public enum Change: Sendable, Hashable {
        /// No handler had the id before.
        case added
        /// The handler already had the id, so the directory was not changed.
        case unchanged
        /// Another handler at this path had the id. The path may be in a system directory, whose files do not change.
        case replaced(path: String)
    }

    /// The handler as it is registered now.
    public let handler: Handler
    /// The change to the user's directory.
    public let change: Change
    /// The schemes that other handlers claim as well. The registry's rules decide which handler wins; the order of
    /// registration is only one of them.
    public let conflicts: [Conflict]
    /// Requests of the manifest that were not granted, such as one for a fixed scheme.
    public var warnings: [Diagnostic]
}

/// Why a handler was not registered.
///
/// The directory is unchanged, unless the disk itself failed or does not respond.
public enum RegistrationError: Error, Hashable, CustomStringConvertible {
    /// The path is relative, and the caller's working directory is not known.
    case relativePath(String)
    /// The path contains a NUL byte.
    case pathHoldsNUL
    /// There is nothing at the path.
    case missing(String)
    /// The file's name ends neither in `.app` nor in `.plist`. If it is a directory, these are the files in it that
    /// could be meant.
    case notAHandler(String, containing: [String])
    /// The manifest is invalid.
    case invalid([Diagnostic])
    /// The manifest changed while it was being registered.
    case changed(String)
    /// The id belongs to a fixed system handler.
    case fixedHandler(BundleIdentifier)
    /// Another handler has the id, and the caller did not ask to replace it.
    case registered(BundleIdentifier, by: String, instead: String)
    /// The id is another program's bus name.
    case takenName(BundleIdentifier, by: String)
    /// One of the user's own files or directories declares the id. Only links are replaced.
    case occupied(entry: String)
    /// The user has no directory: neither `XDG_DATA_HOME` nor `HOME` is an absolute path.
    case noUserDirectory
    /// The system refused to change the directory.
    case fileSystem(path: String, reason: String)

    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .relativePath(let path): "\(printable(path)) is a relative path; give an absolute one"
        case .pathHoldsNUL: "the path contains a NUL byte"
        case .missing(let path): "\(printable(path)): does not exist"
        case .notAHandler(let path, let files):
            "\(printable(path)) is neither a bundle (Name.app) nor a manifest (Name.plist); "
                + (files.isEmpty
                    ? "register one of these; 'openurl new' writes a handler with its manifest"
                    : "register \(files.map(printable).joined(separator: " or "))")
        case .invalid(let diagnostics): diagnostics.map(\.description).joined(separator: "\n")
        case .changed(let path): "\(printable(path)) changed while it was being registered; register it again"
        case .fixedHandler(let id): "\(id) is a fixed system handler; choose another CFBundleIdentifier"
        case .registered(let id, let other, let path):
            "\(id) is registered already, as \(printable(other)); "
                + "run `openurl register --replace \(quotedForShell(path))` to replace it"
        case .takenName(let id, let owner):
            "\(id) is another program's bus name: \(printable(owner)); end that program, or choose another CFBundleIdentifier"
        case .occupied(let entry):
            "\(printable(entry)) declares this id and is not a link; move it away, then register again"
        case .noUserDirectory:
            "the user has no directory for handlers; set HOME or XDG_DATA_HOME to an absolute path"
        case .fileSystem(let path, let reason): "\(printable(path)): \(reason)"
        }
    }
}

/// Why a handler was not unregistered.
///
/// The directory is unchanged, unless the disk itself failed.
public enum UnregistrationError: Error, Hashable, CustomStringConvertible {
    /// No directory declares the id.
    case unknown(BundleIdentifier)
    /// Only a system directory declares the id.
    case systemHandler(BundleIdentifier, entry: String)
    /// The id is declared by a file or directory in the user's directory, not by a link. Only links are removed.
    case notALink(entry: String)
    /// The system refused to change the directory.
    case fileSystem(path: String, reason: String)

    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .unknown(let id): "no handler is registered as \(id); 'openurl list' shows all that are"
        case .systemHandler(let id, let entry):
            "\(id) is installed for all users, as \(printable(entry)); only an administrator can remove it"
        case .notALink(let entry): "\(printable(entry)) is not a link that a registration made; delete it yourself"
        case .fileSystem(let path, let reason): "\(printable(path)): \(reason)"
        }
    }
}
