import Glibc
import TestSupport
import Testing

extension TemporaryDirectory {
    @discardableResult
    func makeFIFO(_ name: String) throws -> String {
        let fifo = try makeParents(of: name)
        try #require(mkfifo(fifo, 0o644) == 0)
        return fifo
    }

    /// Creates an empty file of a size without allocating blocks.
    @discardableResult
    func makeSparseFile(_ name: String, size: Int) throws -> String {
        let file = try write([], to: name)
        try #require(truncate(file, size) == 0)
        return file
    }

    /// Sets the time of an entry itself. A link is not followed.
    func setDate(_ name: String, seconds: Int, nanoseconds: Int = 0) throws {
        let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        try #require(utimensat(AT_FDCWD, "\(path)/\(name)", [time, time], AT_SYMLINK_NOFOLLOW) == 0)
    }

    /// Returns the sorted names in a subdirectory, including hidden names.
    func names(in name: String) throws -> [String] {
        let stream = try #require(opendir("\(path)/\(name)"))
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let text = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if text != ".", text != ".." { names.append(text) }
        }
        return names.sorted()
    }

    /// Returns the target of a link.
    func target(of name: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = readlink("\(path)/\(name)", &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}
