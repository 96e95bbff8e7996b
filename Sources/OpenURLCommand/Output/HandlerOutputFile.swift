internal import Glibc
internal import UserFiles

/// The file with a handler's output. The router empties the file when it has become large.
struct HandlerOutputFile {
    private let path: String
    /// The number of bytes that have been read.
    private var offset: Int64 = 0
    /// The file that has been read; nil before the first one.
    private var inode: ino_t?

    private static let pieceSize = 1 << 16

    init(_ path: String) {
        self.path = path
    }

    /// Passes on the bytes that were written since the last call.
    ///
    /// - Parameters:
    ///   - count: the number of lines at the end that the first call begins with; nil for all lines.
    ///   - body: gets the bytes in pieces, and returns whether to continue.
    /// - Throws: an error if the file cannot be read. A file that does not exist has no bytes.
    mutating func read(last count: Int? = nil, _ body: (ArraySlice<UInt8>) -> Bool) throws(FileError) {
        let file: (descriptor: Int32, status: stat)
        do throws(FileError) {
            file = try openFile(path, limit: .max, followingLinks: false)
        } catch {
            guard error.isAbsence else { throw error }
            // Everything that is written from now on is new, even in a file that gets the removed file's inode number.
            (inode, offset) = (0, 0)
            return
        }
        defer { close(file.descriptor) }
        let size = Int64(file.status.st_size)
        if inode == nil {
            offset =
                try count.map { (count) throws(FileError) in try Self.start(ofLast: count, file.descriptor, size) } ?? 0
        } else if inode != file.status.st_ino || size < offset {
            offset = 0
        }
        inode = file.status.st_ino
        while offset < size {
            let bytes = try Self.piece(
                file.descriptor,
                at: offset,
                count: Int(min(size - offset, Int64(Self.pieceSize)))
            )
            // The file has been emptied in the meantime.
            if bytes.isEmpty { return }
            offset += Int64(bytes.count)
            guard body(bytes[...]) else { return }
        }
    }

    /// The position of the last lines. A line break at the end of the file ends the last one.
    private static func start(ofLast count: Int, _ descriptor: CInt, _ size: Int64) throws(FileError) -> Int64 {
        guard count > 0 else { return size }
        var left = count
        var end = size
        while end > 0 {
            let start = max(end - Int64(pieceSize), 0)
            let bytes = try piece(descriptor, at: start, count: Int(end - start))
            for index in bytes.indices.reversed() where bytes[index] == UInt8(ascii: "\n") {
                let next = start + Int64(index) + 1
                guard next < size else { continue }
                left -= 1
                if left == 0 { return next }
            }
            end = start
        }
        return 0
    }

    private static func piece(_ descriptor: CInt, at offset: Int64, count: Int) throws(FileError) -> [UInt8] {
        var code: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let result = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            if result < 0 { code = errno }
            initialized = max(result, 0)
        }
        guard code == 0 else { throw FileError(code: code) }
        return bytes
    }
}
