internal import Glibc

/// The program of a process.
enum ProcessProgram {
    /// The program's path, as `/proc/PID/exe` has it; nil if the process is gone or belongs to another user.
    static func path(pid: UInt32) -> String? {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
            let text = buffer.bindMemory(to: CChar.self)
            guard let start = text.baseAddress else { return nil }
            let count = readlink("/proc/\(pid)/exe", start, text.count)
            guard count > 0 else { return nil }
            return String(validating: buffer.prefix(count), as: UTF8.self)
        }
    }
}
