internal import Glibc

/// The file that holds a handler's saved state between two of its processes.
///
/// The handler writes and reads the file. The router removes the file when the user ends the handler.
package struct SavedStateLocation: Sendable, Hashable {
    /// The path of the file.
    package let path: String
    /// The paths of the file after no failed launch, after one, and after two. A launch counts as failed until it is over.
    package var paths: [String] { [path, "\(path).1", "\(path).2"] }

    /// The file at a path.
    package init(path: String) {
        self.path = path
    }

    /// The file of a handler: `$XDG_STATE_HOME/openurl/<bundle identifier>.state`, or below `$HOME/.local/state`.
    ///
    /// - Parameters:
    ///   - id: the handler's bundle identifier.
    /// - Returns: `nil` if the environment gives no directory for state.
    package init?(ofHandler id: String, environment: [String: String]) {
        guard let directory = BaseDirectories(environment: environment).stateHome else { return nil }
        self.init(path: "\(directory)/openurl/\(id).state")
    }

    /// Removes the file under all of its names. A missing file is not an error.
    package func remove() throws(FileError) {
        for path in paths where unlink(path) != 0 && errno != ENOENT {
            throw FileError(code: errno)
        }
    }
}
