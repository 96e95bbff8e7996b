internal import Glibc

/// The file that passes a handler's saved state from one of its processes to the next.
///
/// The handler writes and reads it. The router removes it when the user ends the handler.
package struct SavedStateLocation: Sendable, Hashable {
    /// The file's path.
    package let path: String
    /// The file's paths after no failed launch, after one, and after two. Until a launch is over, it counts as failed.
    package var paths: [String] { [path, "\(path).1", "\(path).2"] }

    /// Creates the location of a file at a path.
    package init(path: String) {
        self.path = path
    }

    /// Creates the location of a handler's file: `$XDG_STATE_HOME/openurl/<bundle identifier>.state`, or below
    /// `$HOME/.local/state`.
    ///
    /// - Parameters:
    ///   - id: the handler's bundle identifier.
    /// - Returns: `nil` if the environment gives no directory for state.
    package init?(ofHandler id: String, environment: [String: String]) {
        guard let directory = BaseDirectories(environment: environment).stateHome else { return nil }
        self.init(path: "\(directory)/openurl/\(id).state")
    }

    /// Removes the file under all of its names, if it exists.
    package func remove() throws(FileError) {
        for path in paths where unlink(path) != 0 && errno != ENOENT {
            throw FileError(code: errno)
        }
    }
}
