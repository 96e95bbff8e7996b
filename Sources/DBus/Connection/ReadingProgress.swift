/// Judges whether the other end of a connection without a bus reads, by what it has read since the last look.
///
/// A program may read slowly, so the amount that is left says little about it.
struct ReadingProgress {
    /// About how far the other end has read. While the socket is full, it changes only when the other end has read one
    /// of the kernel's buffers (about 32 KiB) completely.
    struct Position: Equatable {
        /// Number of bytes that the socket has taken since the connection began.
        let taken: Int
        /// The memory of the socket's buffers that the other end has not read completely.
        let held: CInt
    }

    private var last: Position?
    private var looks = 0

    /// Number of looks after which a program that leaves a lot unread at every look counts as one that does not read.
    static let maximumLooks = 12

    /// - Parameter position: The position now; nil if only a little is waiting for the other end.
    init(at position: Position?) {
        last = position
    }

    /// Looks again.
    ///
    /// - Parameter position: The position now; nil if only a little is waiting for the other end.
    /// - Returns: Whether the other end does not read.
    mutating func hasStopped(at position: Position?) -> Bool {
        defer { last = position }
        looks = position == nil ? 0 : looks + 1
        return position != nil && (position == last || looks >= Self.maximumLooks)
    }
}
