internal import Glibc

/// Splits what a descriptor delivers at a separator, with no more memory than one record of the greatest length takes.
struct RecordReader {
    private let descriptor: CInt
    private let separator: UInt8
    private let maximumLength: Int
    private var buffer: [UInt8]
    private var unread = 0..<0

    /// Reads from a descriptor that stays the caller's.
    init(descriptor: CInt, separator: UInt8, maximumLength: Int) {
        self.descriptor = descriptor
        self.separator = separator
        self.maximumLength = maximumLength
        buffer = Array(repeating: 0, count: 1 << 16)
    }

    /// The next record without its separator, nil after the last; what stands behind the last separator is a record
    /// unless it is empty.
    ///
    /// - Parameter willRead: called before the process may have to wait.
    /// - Returns: of a record that is too long its first `maximumLength + 1` bytes; the rest is skipped.
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
            if errno != EINTR { throw ReadError(number: errno) }
        }
    }

    /// Why nothing more can be read.
    struct ReadError: Error {
        let number: CInt
        var message: String { String(cString: strerror(number)) }
    }
}
