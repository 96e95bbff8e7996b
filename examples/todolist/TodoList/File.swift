import Glibc

/// An open file, closed at the end of its lifetime.
struct File: ~Copyable {
    private let path: String
    private let descriptor: Int32

    /// Opens a file. If it is new, only the user has access to it.
    init(_ path: String, _ flags: Int32) throws(StoreError) {
        self.path = path
        descriptor = open(path, flags | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw .system(operation: "open", path: path, code: errno) }
    }

    deinit { close(descriptor) }

    /// Waits for the exclusive lock, which is released when this file is closed.
    func lock() throws(StoreError) {
        try retrying("lock") { flock(descriptor, LOCK_EX) }
    }

    func readAll() throws(StoreError) -> [UInt8] {
        var contents: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try retrying("read") { read(descriptor, &chunk, chunk.count) }
            if count == 0 { return contents }
            contents += chunk[..<count]
        }
    }

    func writeAll(_ bytes: [UInt8]) throws(StoreError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try retrying("write") { rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits until the file, or the names in a directory, are on the disk.
    func synchronize() throws(StoreError) {
        try retrying("write") { fsync(descriptor) }
    }

    /// Makes a system call, again and again if a signal interrupts it.
    @discardableResult
    private func retrying<Result: SignedInteger>(_ operation: String, _ call: () -> Result) throws(StoreError) -> Result
    {
        while true {
            let result = call()
            if result >= 0 { return result }
            guard errno == EINTR else { throw .system(operation: operation, path: path, code: errno) }
        }
    }
}

/// Renames a file, replacing any file with the new name.
func moveFile(_ path: String, to newPath: String) throws(StoreError) {
    if rename(path, newPath) != 0 { throw .system(operation: "rename", path: path, code: errno) }
}

/// Creates a directory and its parents with access only for the user. Existing ones stay as they are.
func makeDirectories(_ path: String) throws(StoreError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
        throw .system(operation: "make", path: path, code: errno)
    }
    try makeDirectories(String(path[..<slash]))
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw .system(operation: "make", path: path, code: errno) }
}
