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
}
