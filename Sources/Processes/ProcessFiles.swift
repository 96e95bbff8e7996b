internal import CLinux
internal import Glibc

/// A process's files in `/proc`.
package enum ProcessFiles {
    /// Returns the first bytes of a file, such as `stat`; nil if the process has exited or belongs to another user.
    ///
    /// - Parameter limit: The maximum number of bytes to read.
    package static func bytes(_ name: String, pid: UInt32, limit: Int = 4096) -> [UInt8]? {
        contents(of: "/proc/\(pid)/\(name)", limit: limit)
    }

    /// Returns the first bytes of a system file; nil if it is empty or cannot be read.
    ///
    /// - Parameter limit: The maximum number of bytes to read.
    package static func contents(of path: String, limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            // The kernel returns a long file in parts.
            while initialized < limit {
                let count = read(descriptor, buffer.baseAddress.map { $0 + initialized }, limit - initialized)
                guard count > 0 else { return }
                initialized += count
            }
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// Returns the target of a link, such as `exe`; nil if the process has exited or belongs to another user.
    package static func link(_ name: String, pid: UInt32) -> String? {
        withLink("/proc/\(pid)/\(name)") { String(validating: $0, as: UTF8.self) }
    }

    /// Calls a function with the bytes of a link's target, which need not be valid text.
    ///
    /// - Returns: The function's result; nil, with the reason in `errno`, if the link cannot be read.
    static func withLink<Result>(_ path: String, _ body: (Slice<UnsafeMutableRawBufferPointer>) -> Result?) -> Result? {
        var error: CInt = 0
        let result = withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer -> Result? in
            guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            if count > 0 { return body(buffer.prefix(count)) }
            error = errno
            return nil
        }
        // Freeing the buffer may have changed it.
        if error != 0 { errno = error }
        return result
    }
}
