/// A process's state, as the kernel reports it.
package enum ProcessState {
    /// Returns whether a signal has stopped the process, or a debugger is tracing it. Such a process cannot answer, but
    /// nothing is wrong with it.
    package static func isHeld(pid: CInt) -> Bool {
        guard let bytes = UInt32(exactly: pid).flatMap({ ProcessFiles.bytes("status", pid: $0) }) else { return false }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains { line in
            line.hasPrefix("State:\tT") || line.hasPrefix("State:\tt")
                || line.hasPrefix("TracerPid:") && line != "TracerPid:\t0"
        }
    }
}
