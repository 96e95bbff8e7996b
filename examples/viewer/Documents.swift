import Glibc

/// The handler's directory, with the inbox that the router fills and the documents that the handler keeps.
struct Documents {
    private let inbox: String
    private let kept: String

    /// Size of the largest text that the viewer reads, in bytes.
    private static let largestText = 16 << 20

    init(directory: String) {
        inbox = "\(directory)/Inbox"
        kept = "\(directory)/Documents"
    }

    /// Reads a regular file of at most 16 MiB.
    func read(_ path: [UInt8]) throws(FileError) -> [UInt8] {
        // Without O_NONBLOCK, a FIFO would stop the handler.
        let file = path.withPath { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard file >= 0 else { throw FileError(path, errno) }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0 else { throw FileError(path, errno) }
        guard facts.st_mode & S_IFMT == S_IFREG else { throw FileError(path, EINVAL) }
        guard facts.st_size <= Self.largestText else { throw FileError(path, EFBIG) }
        var text = [UInt8](repeating: 0, count: Int(facts.st_size))
        var length = 0
        while length < text.count {
            let count = text.withUnsafeMutableBytes {
                Glibc.read(file, $0.baseAddress.map { $0 + length }, $0.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(path, errno) }
            if count == 0 { break }
            length += count
        }
        return Array(text.prefix(length))
    }

    /// Moves a file from the inbox to the documents, without replacing another document.
    ///
    /// - Returns: The file's new path, or the old one if the file is not in the inbox.
    func keep(_ path: [UInt8]) throws(FileError) -> [UInt8] {
        guard path.starts(with: Array("\(inbox)/".utf8)), let slash = path.lastIndex(of: UInt8(ascii: "/")),
            slash == inbox.utf8.count
        else { return path }
        guard mkdir(kept, 0o700) == 0 || errno == EEXIST else { throw FileError(Array(kept.utf8), errno) }
        let name = path[(slash + 1)...]
        for number in 0..<1000 {
            let new = Array("\(kept)/\(number == 0 ? "" : "\(number)-")".utf8) + name
            // Unlike `rename`, `link` replaces nothing.
            if path.withPath({ old in new.withPath { link(old, $0) } }) == 0 {
                guard path.withPath({ unlink($0) }) == 0 else { throw FileError(path, errno) }
                return new
            }
            guard errno == EEXIST else { throw FileError(path, errno) }
        }
        throw FileError(path, EEXIST)
    }
}

/// A failed system call for a file. Its description is the reason why the handler declines the URL.
struct FileError: Error, CustomStringConvertible {
    let description: String

    init(_ path: [UInt8], _ code: Int32) {
        description = "\(String(decoding: path, as: UTF8.self)): \(String(cString: strerror(code)))"
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes as a path of the C library.
    func withPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        (map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return body("") }
            return body(start)
        }
    }
}
