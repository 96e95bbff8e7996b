import Glibc

/// A file in memory, which the readers of files can open by its path.
struct MemoryFile {
    let descriptor: Int32

    init() {
        var name = Array("/dev/shm/openurl-fuzz-XXXXXX\0".utf8CString)
        descriptor = mkstemp(&name)
        precondition(descriptor >= 0)
        unlink(name)
    }

    var path: String { "/proc/self/fd/\(descriptor)" }

    var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(lseek(descriptor, 0, SEEK_END))) { buffer, count in
            count = max(pread(descriptor, buffer.baseAddress, buffer.count, 0), 0)
        }
    }

    /// Replaces the contents. The next byte that is written through ``descriptor`` is the first.
    func set(_ bytes: [UInt8]) {
        precondition(ftruncate(descriptor, 0) == 0)
        precondition(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
        lseek(descriptor, 0, SEEK_SET)
    }
}
