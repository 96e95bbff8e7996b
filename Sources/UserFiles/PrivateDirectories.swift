internal import Glibc

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
/// The mode is 0700, as the XDG Base Directory Specification asks. A directory that exists keeps its mode. A directory of
/// the root is not made: it is the home of a user without one, such as `/nonexistent`.
///
/// - Parameter path: an absolute path.
package func makePrivateDirectories(_ path: String) throws(DirectoryError) {
    // Nearly every time the directory exists, and one call is enough.
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    var partial = ""
    for component in path.split(separator: "/") {
        partial += "/\(component)"
        if partial.dropFirst().allSatisfy({ $0 != "/" }) { continue }
        guard mkdir(partial, 0o700) == 0 || errno == EEXIST else {
            throw DirectoryError(path: partial, error: FileError(code: errno))
        }
    }
}

/// The directory that holds a file: the path up to its last slash, and an empty text for a file of the root.
package func parentDirectory(of path: String) -> String {
    String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
}
