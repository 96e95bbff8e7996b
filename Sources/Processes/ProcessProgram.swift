internal import CLinux
internal import Glibc

/// The program of a process.
package enum ProcessProgram {
    /// The program's path, as `/proc/PID/exe` has it; nil if the process is gone or belongs to another user.
    ///
    /// The path of a file that was removed or replaced since the start of the process has the kernel's mark: see
    /// ``withoutMark(_:)``.
    package static func path(pid: UInt32) -> String? {
        ProcessFiles.link("exe", pid: pid)
    }

    /// The program's path as ``path(pid:)`` returns it, also if the path is no text. The bytes that are no text are replaced, so the
    /// result is never the path of another program.
    ///
    /// - Returns: nil, with the reason in `errno`, if the link cannot be read.
    package static func shownPath(pid: UInt32) -> String? {
        ProcessFiles.withLink("/proc/\(pid)/exe") { String(decoding: $0, as: UTF8.self) }
    }

    /// The program's file without links; nil if it was removed or replaced since the start of the process.
    package static func file(pid: UInt32) -> String? {
        guard let resolved = realpath("/proc/\(pid)/exe", nil) else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }

    /// Whether a process hides from the other programs of its user: its files in `/proc` then belong to root (PR_SET_DUMPABLE(2const)).
    package static func isHidden(pid: UInt32) -> Bool {
        var status = stat()
        return stat("/proc/\(pid)", &status) == 0 && status.st_uid != geteuid()
    }

    // MARK: A replaced file

    /// The end that the kernel gives the path of a file that was removed or replaced (proc_pid_exe(5)).
    private static let mark = " (deleted)"

    /// Whether the file of the process's program has been removed or replaced since its start.
    package static func isReplaced(pid: UInt32) -> Bool {
        path(pid: pid)?.hasSuffix(mark) == true
    }

    /// The path that the program was started with: a path of ``path(pid:)`` without the kernel's mark.
    package static func withoutMark(_ path: String) -> String {
        path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }

    // MARK: The program beside this one

    /// The path of a file in the directory of this process's program; nil if the kernel does not tell the directory, or if its path
    /// is no text. The program's own file may have been replaced.
    package static func path(ofNeighbour name: String) -> String? {
        bytes(ofNeighbour: name).flatMap { String(validating: $0.dropLast(), as: UTF8.self) }
    }

    /// The same path as ``path(ofNeighbour:)``, for calls of the system: a directory may have any name.
    ///
    /// - Returns: The bytes of the path and a zero; nil, with the reason in `errno`, if the kernel does not tell the directory.
    package static func bytes(ofNeighbour name: String) -> [UInt8]? {
        ProcessFiles.withLink("/proc/self/exe") { path in
            path.lastIndex(of: UInt8(ascii: "/")).map { [UInt8](path[...$0]) + Array(name.utf8) + [0] }
        }
    }

    // MARK: A script

    /// The resolved path of the script that an interpreter runs: its first argument that is not an option.
    ///
    /// A process can change its own arguments, so the path is only the word of the process.
    ///
    /// - Returns: nil if the process is gone, or if its arguments name no file.
    package static func script(pid: UInt32) -> String? {
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
