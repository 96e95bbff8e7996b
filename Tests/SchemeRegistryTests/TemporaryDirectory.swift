import FoundationEssentials
import Glibc
import Testing

/// A directory that exists as long as its test.
final class TemporaryDirectory {
    /// The path, with all links resolved.
    let path: String

    init() throws {
        var template = Array("/tmp/scheme-registry.XXXXXX\0".utf8CString)
        let made = try #require(mkdtemp(&template))
        let resolved = try #require(realpath(made, nil))
        defer { free(resolved) }
        path = String(cString: resolved)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            Issue.record(error)
        }
    }

    /// Writes a file and creates the directories above it.
    @discardableResult
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = try makeParents(of: name)
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        return file
    }

    @discardableResult
    func makeDirectory(_ name: String) throws -> String {
        try makeParents(of: name + "/x").dropLast(2).description
    }

    @discardableResult
    func link(_ name: String, to target: String) throws -> String {
        let link = try makeParents(of: name)
        try #require(symlink(target, link) == 0)
        return link
    }

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

    private func makeParents(of name: String) throws -> String {
        var parent = path
        for component in name.split(separator: "/").dropLast() {
            parent += "/\(component)"
            try #require(mkdir(parent, 0o755) == 0 || errno == EEXIST)
        }
        return "\(path)/\(name)"
    }
}
