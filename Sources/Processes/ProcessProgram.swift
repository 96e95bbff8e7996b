internal import CLinux
internal import Glibc

/// A process's program.
package enum ProcessProgram {
    /// Returns the path of the program, from `/proc/PID/exe`; nil if the process has exited or belongs to another user.
    ///
    /// If the file has been removed or replaced since the process started, the path has the kernel's mark: see
    /// ``withoutMark(_:)``.
    package static func path(pid: UInt32) -> String? {
        ProcessFiles.link("exe", pid: pid)
    }

    /// Returns the path of the program as ``path(pid:)`` does, but even if the path is not valid text. Invalid bytes
    /// are replaced, so the result is never another program's path.
    ///
    /// - Returns: Nil, with the reason in `errno`, if the link cannot be read.
    package static func shownPath(pid: UInt32) -> String? {
        ProcessFiles.withLink("/proc/\(pid)/exe") { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the path of the program's file without links; nil if it has been removed or replaced since the process
    /// started.
    package static func file(pid: UInt32) -> String? {
        guard let resolved = realpath("/proc/\(pid)/exe", nil) else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }

    /// Returns whether a process hides from its user's other programs. In that case, its files in `/proc` belong to
    /// root (PR_SET_DUMPABLE(2const)).
    package static func isHidden(pid: UInt32) -> Bool {
        var status = stat()
        return stat("/proc/\(pid)/status", &status) == 0 && status.st_uid != geteuid()
    }

    // MARK: A replaced file

    /// The suffix that the kernel appends to the path of a file that was removed or replaced (proc_pid_exe(5)).
    private static let mark = " (deleted)"

    /// Returns whether the program's file has been removed or replaced since the process started.
    package static func isReplaced(pid: UInt32) -> Bool {
        path(pid: pid)?.hasSuffix(mark) == true
    }

    /// Returns the path that the program was started with: a path from ``path(pid:)`` without the kernel's mark.
    package static func withoutMark(_ path: String) -> String {
        path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }

    // MARK: The program next to this one

    /// Returns the path of a file in the directory of this process's program; nil if the kernel does not report the
    /// directory, or if its path is not valid text. It does not matter whether the program's own file was replaced.
    package static func path(ofNeighbour name: String) -> String? {
        bytes(ofNeighbour: name).flatMap { String(validating: $0.dropLast(), as: UTF8.self) }
    }

    /// Returns the same path as ``path(ofNeighbour:)``, as bytes for system calls, because it need not be valid text.
    ///
    /// - Returns: The path's bytes and a zero; nil, with the reason in `errno`, if the kernel does not report the
    ///   directory.
    package static func bytes(ofNeighbour name: String) -> [UInt8]? {
        ProcessFiles.withLink("/proc/self/exe") { path in
            path.lastIndex(of: UInt8(ascii: "/")).map { [UInt8](path[...$0]) + Array(name.utf8) + [0] }
        }
    }

    // MARK: A script

    /// Returns the resolved path of the script that an interpreter runs: its first argument that is not an option.
    ///
    /// Do not trust it: a process can change its own arguments.
    ///
    /// - Returns: Nil if the process has exited, or if its arguments contain no file.
    package static func script(pid: UInt32) -> String? {
        guard let path = scriptArgument(pid: pid), !path.isEmpty,
            let resolved = realpath(path.hasPrefix("/") ? path : "/proc/\(pid)/cwd/\(path)", nil)
        else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }

    /// Returns the script's path as it appears in the process's arguments. This does not access any file system.
    private static func scriptArgument(pid: UInt32) -> String? {
        // This leaves enough room for the interpreter's path, its options and the script's path.
        guard let bytes = ProcessFiles.bytes("cmdline", pid: pid, limit: 3 * Int(PATH_MAX)) else { return nil }
        let arguments = bytes.split(separator: 0, omittingEmptySubsequences: false).dropFirst()
        return arguments.first { $0.first != UInt8(ascii: "-") }.flatMap { String(validating: $0, as: UTF8.self) }
    }
}
