internal import Glibc

/// The state of a process in the kernel.
enum ProcessState {
    /// Whether a signal has stopped the process, or a debugger traces it. Such a process cannot answer, and is healthy.
    static func isHeld(pid: CInt) -> Bool {
        let descriptor = open("/proc/\(pid)/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // The two lines are among the first ten; a name has at most 64 bytes.
        let text = withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
            String(decoding: buffer.prefix(max(0, read(descriptor, buffer.baseAddress, buffer.count))), as: UTF8.self)
        }
        return text.split(separator: "\n").contains { line in
            line.hasPrefix("State:\tT") || line.hasPrefix("State:\tt")
                || line.hasPrefix("TracerPid:") && line != "TracerPid:\t0"
        }
    }
}
