internal import CLinux
internal import Glibc

/// The program of a process.
enum ProcessProgram {
    /// The program's path, as `/proc/PID/exe` has it; nil if the process is gone or belongs to another user.
    static func path(pid: UInt32) -> String? {
        ProcessFiles.link("exe", pid: pid)
    }

    /// Whether the file of the process's program has been removed or replaced since its start.
    static func isReplaced(pid: UInt32) -> Bool {
        path(pid: pid)?.hasSuffix(" (deleted)") == true
    }

    /// The resolved path of the script that an interpreter runs: its first argument that is not an option.
    ///
    /// A process can change its own arguments, so the path is only the word of the process.
    ///
    /// - Returns: nil if the process is gone, or if its arguments name no file.
    static func script(pid: UInt32) -> String? {
        guard let path = scriptArgument(pid: pid), !path.isEmpty,
            let resolved = realpath(path.hasPrefix("/") ? path : "/proc/\(pid)/cwd/\(path)", nil)
        else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }

    /// The path of the script as the process has it in its arguments. No file system is asked.
    private static func scriptArgument(pid: UInt32) -> String? {
        // The interpreter's path, its options and the path of the script fit in this size.
        guard let bytes = ProcessFiles.bytes("cmdline", pid: pid, limit: 3 * Int(PATH_MAX)) else { return nil }
        let arguments = bytes.split(separator: 0, omittingEmptySubsequences: false).dropFirst()
        return arguments.first { $0.first != UInt8(ascii: "-") }.flatMap { String(validating: $0, as: UTF8.self) }
    }
}
