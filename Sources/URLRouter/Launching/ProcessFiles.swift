internal import CLinux
internal import Glibc

/// The files of a process in `/proc`.
enum ProcessFiles {
    /// The first bytes of a file, such as `stat`; nil if the process is gone or belongs to another user.
    ///
    /// - Parameter limit: the number of bytes to read at most.
    static func bytes(_ name: String, pid: UInt32, limit: Int = 4096) -> [UInt8]? {
        contents(of: "/proc/\(pid)/\(name)", limit: limit)
    }

    /// The first bytes of a file of the system; nil if it is empty or cannot be read.
    ///
    /// - Parameter limit: the number of bytes to read at most.
    static func contents(of path: String, limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            // The kernel gives a long file in parts.
            while initialized < limit {
                let count = read(descriptor, buffer.baseAddress.map { $0 + initialized }, limit - initialized)
                guard count > 0 else { return }
                initialized += count
            }
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// The target of a link, such as `exe`; nil if the process is gone or belongs to another user.
    static func link(_ name: String, pid: UInt32) -> String? {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
            let text = buffer.bindMemory(to: CChar.self)
            guard let start = text.baseAddress else { return nil }
            let count = readlink("/proc/\(pid)/\(name)", start, text.count)
            guard count > 0 else { return nil }
            return String(validating: buffer.prefix(count), as: UTF8.self)
        }
    }
}
