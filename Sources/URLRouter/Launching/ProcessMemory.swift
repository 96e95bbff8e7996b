internal import Glibc

/// The memory of a process.
enum ProcessMemory {
    /// The resident memory in bytes, as `/proc/PID/statm` has it; nil if the process is gone.
    static func resident(pid: CInt) -> UInt64? {
        let descriptor = open("/proc/\(pid)/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let pages: UInt64? = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else { return nil }
            let fields = String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: " ")
            return fields.count > 1 ? UInt64(fields[1]) : nil
        }
        return pages.map { $0 * UInt64(sysconf(CInt(_SC_PAGESIZE))) }
    }
}
