internal import DBus
internal import Glibc
internal import Translations
internal import URLOpener

extension CommandLineArgument {
    /// Returns the absolute path without `.` elements; a relative path starts at the working directory.
    ///
    /// This keeps `..` elements, because their meaning depends on symbolic links.
    func absolutePath() throws(CommandFailure) -> String {
        guard let text, !text.isEmpty else {
            let problem =
                text == nil
                ? translated("a path that is not UTF-8 cannot be sent over the bus") : translated("the path is empty")
            throw CommandFailure(.invalidArguments, problem, exitStatus: ExitStatus.usage)
        }
        var path = text
        if !text.utf8.starts(with: "/".utf8) {
            guard let directory = getcwd(nil, 0) else {
                let reason = systemErrorText(errno)
                throw CommandFailure(
                    .failed,
                    translated("no working directory: \(reason)"),
                    exitStatus: ExitStatus.failure
                )
            }
            defer { free(directory) }
            path = String(cString: directory) + "/" + text
        }
        return "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// Returns the absolute path of a bundle or a manifest on this machine.
    ///
    /// - Throws: the failure for one that may not be read, which the router would call invalid. It reports a missing one
    ///   itself.
    func manifestPath() throws(CommandFailure) -> String {
        let path = try absolutePath()
        guard access(manifestFile(path), R_OK) == 0 || errno != EACCES else {
            throw CommandFailure(EACCES, of: path, status: ExitStatus.noInput)
        }
        return path
    }
}

/// Returns the path of the manifest in a bundle, or of a manifest that is not in a bundle.
func manifestFile(_ path: String) -> String {
    let inBundle = "\(path)/Info.plist"
    return access(inBundle, F_OK) != 0 && errno == ENOTDIR ? path : inBundle
}
