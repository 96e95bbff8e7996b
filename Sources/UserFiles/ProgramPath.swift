internal import Glibc

/// Returns the path of the executable file with this name, found in the same way as for a launch; nil if there is none.
///
/// - Parameter searchPath: the value of `PATH`; nil for the usual directories.
package func programPath(named name: String, in searchPath: String?) -> String? {
    // A relative directory would depend on the process's working directory.
    for directory in (searchPath ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":") where isAbsolute(directory) {
        let path = "\(directory)/\(name)"
        if isRegularFile(path), access(path, X_OK) == 0 { return path }
    }
    return nil
}

/// Whether a path leads to a regular file.
package func isRegularFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
}
