internal import DequeModule
internal import Glibc

/// The messages that are waiting until the other end has taken earlier ones, in order.
private struct OutgoingQueue {
    private var entries: Deque<Outgoing.Entry> = []
    private var abandoned = 0
    /// Number of bytes in all messages except calls.
    private(set) var bytes = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    /// The number of bytes that a descriptor counts as. Descriptors have a limit too, because a process has few of
    /// them.
    private static let descriptorBytes = 64 << 10

    private func cost(_ entry: Outgoing.Entry) -> Int {
        guard case .message(let message) = entry else { return 0 }
        return message.size + (message.descriptors.isEmpty ? 0 : Self.descriptorBytes)
    }

    mutating func append(_ entry: Outgoing.Entry) {
        bytes += cost(entry)
        entries.append(entry)
    }

    mutating func popFirst() -> Outgoing.Entry? {
        guard let entry = entries.popFirst() else { return nil }
        bytes -= cost(entry)
        return entry
    }

    mutating func abandonCall(_ isNeeded: (UInt64) -> Bool) {
        abandoned += 1
        guard abandoned > entries.count / 2 + 64 else { return }
        entries.removeAll { if case .call(let number) = $0 { !isNeeded(number) } else { false } }
        abandoned = 0
    }
}

/// The messages on their way to the other end: those that the socket takes next, and behind them a queue.
struct Outgoing {
    /// A message in the queue.
    enum Entry {
        case message(WrittenMessage)
        /// A call, by its number. Its message stays in its ``PendingCall``, so a cancelled call is never sent.
        case call(UInt64)
    }

    private var queue = OutgoingQueue()
    private var output = OutputBuffer()
    private let limits: ConnectionLimits
    /// Number of bytes that the socket has taken since the connection began.
    private var taken = 0

    init(_ limits: ConnectionLimits) {
        self.limits = limits
    }

    /// Number of descriptors on their way to the socket above which messages with descriptors have to wait.
    private static let descriptorsOnTheWay = 64

    /// Number of bytes that are waiting for the other end.
    var waitingBytes: Int { output.bytes + queue.bytes }

    /// Whether few enough bytes are waiting for the other end.
    var isRead: Bool { waitingBytes <= limits.unreadBytes }

    var isEmpty: Bool { queue.isEmpty && output.isEmpty }

    /// Whether the socket has taken everything outside the queue.
    var isWritten: Bool { output.isEmpty }

    /// Whether so much is outside the queue that it is to be written at once, because it takes up memory and counts
    /// towards the limits.
    var isLarge: Bool { output.bytes >= OutputBuffer.pieceSize }

    /// Number of messages outside the queue that were added after the last attempt to write.
    var messagesSinceWrite: Int { output.messagesSinceWrite }

    /// Number of messages in the queue.
    var queuedMessages: Int { queue.count }

    /// Whether a message would be sent without waiting for earlier ones.
    var hasRoom: Bool { queue.isEmpty && output.bytes <= limits.queuedBytes }

    /// Whether this message would be sent without waiting for earlier ones.
    func hasRoom(for message: WrittenMessage) -> Bool {
        hasRoom && (message.descriptors.isEmpty || output.descriptors < Self.descriptorsOnTheWay)
    }

    /// Whether an answer of a size leaves enough room for signals. An error may take half of that room.
    func hasRoom(forAnswerOf bytes: Int, isError: Bool) -> Bool {
        limits.unreadBytes - waitingBytes - bytes >= (isError ? 1 : 2) * limits.queuedBytes
    }

    private var mayLeaveQueue: Bool {
        output.bytes <= limits.queuedBytes / 2 && output.descriptors <= Self.descriptorsOnTheWay / 2
    }

    /// Whether there is room for several more messages.
    var hasAmpleRoom: Bool { queue.isEmpty && mayLeaveQueue }

    mutating func append(_ message: WrittenMessage, as serial: UInt32) {
        output.append(message, as: serial)
    }

    mutating func enqueue(_ entry: Entry) {
        queue.append(entry)
    }

    /// Takes the first message from the queue; nil if there is none, or no room for it.
    mutating func dequeue() -> Entry? { mayLeaveQueue ? queue.popFirst() : nil }

    /// Records that no task is waiting for a queued call any longer. Once such calls fill more than half of the queue,
    /// they are removed.
    mutating func abandonCall(_ isNeeded: (UInt64) -> Bool) {
        queue.abandonCall(isNeeded)
    }

    /// Writes as much of the first bytes as the socket takes. If the other end has been closed, everything outside the
    /// queue is dropped.
    mutating func write(to socket: CInt) -> OutputBuffer.Progress {
        let before = output.bytes
        let progress = output.write(to: socket)
        switch progress {
        case .written: taken += before - output.bytes
        case .ended: output = OutputBuffer()
        case .full, .dropped, .failed: break
        }
        return progress
    }

    /// Returns about how far the other end has read.
    func position(in socket: CInt) -> ReadingProgress.Position {
        var held: CInt = 0
        // If the kernel does not report it, the number of bytes taken still shows the progress.
        _ = ioctl(socket, UInt(TIOCOUTQ), &held)
        return ReadingProgress.Position(taken: taken, held: held)
    }

    mutating func removeAll() {
        queue = OutgoingQueue()
        output = OutputBuffer()
    }
}
