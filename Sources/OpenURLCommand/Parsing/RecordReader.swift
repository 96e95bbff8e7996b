internal import Glibc
internal import Translations
internal import URLOpener

/// A reader of records from a descriptor.
///
/// Each record ends with a separator, which may be missing after the last one. Memory use depends only on the maximum
/// length of a record.
struct RecordReader {
    private let descriptor: CInt
    private let separator: UInt8
    private let maximumLength: Int
    private var buffer: [UInt8]
    private var unread = 0..<0

    /// Creates a reader. It does not own the descriptor.
    init(descriptor: CInt, separator: UInt8, maximumLength: Int) {
        self.descriptor = descriptor
        self.separator = separator
        self.maximumLength = maximumLength
        buffer = Array(repeating: 0, count: 1 << 16)
    }

    /// Returns the next record without its separator, or nil after the last one.
    ///
    /// A record that is too long is cut after `maximumLength + 1` bytes, so the caller can still see that it is too
    /// long.
    ///
    /// - Parameter willRead: called before each read, which may block.
    mutating func next(_ willRead: () -> Void) throws(ReadError) -> [UInt8]? {
        var record: [UInt8] = []
        var isEmpty = true
        while true {
            if unread.isEmpty {
                willRead()
                unread = 0..<(try read())
                if unread.isEmpty { return isEmpty ? nil : record }
            }
            isEmpty = false
            let end = buffer[unread].firstIndex(of: separator)
            let piece = buffer[unread.lowerBound..<(end ?? unread.upperBound)]
            record.append(contentsOf: piece.prefix(maximumLength + 1 - record.count))
            unread = min(piece.endIndex + 1, unread.upperBound)..<unread.upperBound
            if end != nil { return record }
        }
    }

    private mutating func read() throws(ReadError) -> Int {
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return count }
            if errno == EAGAIN {
                // Another program with the same open file can make it non-blocking.
                waitUntilReady(descriptor, for: POLLIN)
            } else if errno != EINTR {
                throw ReadError(number: errno)
            }
        }
    }

    struct ReadError: Error {
        let number: CInt
        var message: String { systemErrorText(number) }
    }
}
