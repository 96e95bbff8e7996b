package import Glibc

/// Thrown if a directory cannot be created.
package struct DirectoryError: Error, Hashable {
    /// The directory, which may be one above the requested one.
    package let path: String
    /// The reason.
    package let error: FileError

    package init(path: String, error: FileError) {
        self.path = path
        self.error = error
    }
}

/// Creates a directory, and every missing directory above it, with access for the user only.
///
/// The mode is 0700, as the XDG Base Directory Specification requires. See ``makeDirectories(_:mode:)``.
package func makePrivateDirectories(_ path: String) throws(DirectoryError) {
    try makeDirectories(path, mode: 0o700)
}

/// Creates a directory, and every missing directory above it.
///
/// Existing directories keep their mode. No directory is created directly below the root, because it would be the home
/// directory, such as `/nonexistent`, of a user who has none.
///
/// - Parameters:
///   - path: an absolute path.
///   - mode: the mode of a new directory, before the process's mask is applied.
package func makeDirectories(_ path: String, mode: mode_t) throws(DirectoryError) {
    // The directory nearly always exists, so one call is enough.
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
