package import Glibc

/// The failure to make a directory.
package struct DirectoryError: Error, Hashable {
    /// The directory, which may be above the one that was asked for.
    package let path: String
    /// The reason.
    package let error: FileError

    package init(path: String, error: FileError) {
        self.path = path
        self.error = error
    }
}

/// Makes a directory, and every missing directory above it, for the user alone.
///
/// The mode is 0700, as the XDG Base Directory Specification asks. See ``makeDirectories(_:mode:)``.
package func makePrivateDirectories(_ path: String) throws(DirectoryError) {
    try makeDirectories(path, mode: 0o700)
}

/// Makes a directory, and every missing directory above it.
///
/// A directory that exists keeps its mode. A directory of the root is not made: it is the home of a user without one, such as
/// `/nonexistent`.
///
/// - Parameters:
///   - path: an absolute path.
///   - mode: the mode of a new directory, before the process's mask is applied.
package func makeDirectories(_ path: String, mode: mode_t) throws(DirectoryError) {
    // Nearly every time the directory exists, and one call is enough.
    if mkdir(path, mode) == 0 || errno == EEXIST { return }
    var partial = ""
    for (position, component) in names(onPath: path).enumerated() {
        partial += "/\(component)"
        if position == 0 { continue }
        guard mkdir(partial, mode) == 0 || errno == EEXIST else {
            throw DirectoryError(path: partial, error: FileError(code: errno))
        }
    }
}
