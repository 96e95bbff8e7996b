internal import CLinux
internal import Glibc

/// A process's memory.
package enum ProcessMemory {
    /// Returns the size of the resident memory in bytes, from `/proc/PID/statm`; nil if the process has exited.
    package static func resident(pid: CInt) -> UInt64? {
        guard let bytes = UInt32(exactly: pid).flatMap({ ProcessFiles.bytes("statm", pid: $0) }) else { return nil }
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = UInt64(fields[1]) else { return nil }
        return pages * UInt64(sysconf(CInt(_SC_PAGESIZE)))
    }
}
