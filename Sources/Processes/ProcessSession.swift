internal import CLinux
internal import Glibc

/// A session of processes: the process that began it, and those of its descendants that have not begun sessions of
/// their own.
package enum ProcessSession {
    /// Kills all processes in a session, unless it is the caller's own.
    ///
    /// As long as a session has a process, the kernel does not give the session's number to a new process.
    ///
    /// - Parameters:
    ///   - leader: The number of the process that began the session, which may have ended.
    ///   - isSpared: Returns whether a process is not to be killed.
    /// - Returns: The number of processes killed.
    package static func end(_ leader: CInt, except isSpared: (CInt) -> Bool = { _ in false }) -> Int {
        guard leader > 0, leader != getsid(0), let directory = opendir("/proc") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let pid = pid_t(name), getsid(pid) == leader, !isSpared(pid) else { continue }
            let descriptor = pidfd_open(pid, 0)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            // Before the descriptor was opened, the number may have gone to another process.
            guard getsid(pid) == leader, pidfd_send_signal(descriptor, SIGKILL, nil, 0) == 0 else { continue }
            count += 1
        }
        return count
    }
}
