internal import Glibc
internal import UserFiles

extension Examiner {
    /// Returns the command that shows the user a file, or a line of it, to correct.
    func editing(_ path: String, line: Int? = nil) -> String {
        "\"${EDITOR:-vi}\" \(line.map { "+\($0) " } ?? "")\(quotedForShell(path))"
    }

    /// Returns the command that repairs a manifest or a program that cannot be used.
    func repairing(_ path: String, line: Int? = nil) -> String {
        do throws(FileError) {
            let type = try status(of: path, followingLinks: true).st_mode & S_IFMT
            // There may be good reasons for a device to be writable by others, but neither a device nor a link to one
            // belongs here.
            if type != S_IFREG, type != S_IFDIR { return "rm \(quotedForShell(path))" }
            var trust = TrustedPaths()
            try trust.check(path)
        } catch {
            // The reason contains the command. Do not look for a command in a diagnostic, whose text may quote a part
            // of the manifest.
            let parts = error.reason.split(separator: "`", omittingEmptySubsequences: false)
            if parts.count == 3 { return String(parts[1]) }
        }
        return access(path, R_OK) == 0 ? editing(path, line: line) : "chmod u+r \(quotedForShell(path))"
    }
}
