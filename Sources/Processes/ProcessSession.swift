internal import CLinux
internal import Glibc

/// A session of processes: the process that began it, and its descendants that have not begun one of their own.
package enum ProcessSession {
    /// Kills all processes of a session.
    ///
    /// The kernel gives the number of a session to no new process as long as the session has a process.
    ///
    /// - Parameter leader: the number of the process that began the session, which has ended.
    /// - Returns: the number of processes.
    package static func end(_ leader: CInt) -> Int {
        guard let directory = opendir("/proc") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let pid = pid_t(name), getsid(pid) == leader else { continue }
            let descriptor = pidfd_open(pid, 0)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            // The number may have gone to another process before the descriptor was there.
            guard getsid(pid) == leader, pidfd_send_signal(descriptor, SIGKILL, nil, 0) == 0 else { continue }
            count += 1
        }
        return count
    }
}
