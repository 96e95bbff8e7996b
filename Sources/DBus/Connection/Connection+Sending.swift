internal import DequeModule
internal import Reactor

/// The messages that wait until the other end has taken earlier ones, in order.
struct OutgoingQueue {
    enum Entry {
        case message(WrittenMessage)
        /// A call, by its number. Its message is in its ``PendingCall``, so a call that has been cancelled is not sent.
        case call(UInt64)
    }

    private var entries: Deque<Entry> = []
    private var abandoned = 0
    /// The bytes of the messages other than calls.
    private(set) var bytes = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    /// The bytes that a descriptor counts as, because a process has few descriptors.
    private static let descriptorBytes = 64 << 10

    private func cost(_ message: WrittenMessage) -> Int {
        message.size + (message.descriptors.isEmpty ? 0 : Self.descriptorBytes)
    }

    mutating func append(_ message: WrittenMessage) {
        bytes += cost(message)
        entries.append(.message(message))
    }

    mutating func append(call number: UInt64) {
        entries.append(.call(number))
    }

    mutating func popFirst() -> Entry? {
        guard let entry = entries.popFirst() else { return nil }
        if case .message(let message) = entry { bytes -= cost(message) }
        return entry
    }

    /// Records that no task waits any longer for a queued call. When more than half of the queue consists of such
    /// calls, they are removed.
    mutating func abandonCall(_ isNeeded: (UInt64) -> Bool) {
        abandoned += 1
        guard abandoned > entries.count / 2 + 64 else { return }
        entries.removeAll { if case .call(let number) = $0 { !isNeeded(number) } else { false } }
        abandoned = 0
    }
}

/// The sending of messages.
extension Connection {
    /// Sends a message to which no task awaits an answer.
    func send(_ message: WrittenMessage) throws(CallError) {
        if try transmit(message) != nil { return }
        queue.append(message)
        guard isReading else {
            disconnect(.unread)
            throw .disconnected
        }
    }

    /// Hands a message over for writing, unless the message has to wait for earlier ones.
    ///
    /// - Returns: The serial of the message; nil if the message has to wait.
    func transmit(_ message: WrittenMessage) throws(CallError) -> UInt32? {
        guard state == .open else { throw .disconnected }
        if !message.descriptors.isEmpty {
            // The caller would otherwise wait until the deadline, because the other end drops the message.
            if !passesDescriptors { throw .notSent(.descriptorNotPassed) }
            if output.descriptors >= Self.descriptorsOnTheWay { return nil }
        }
        guard queue.isEmpty, output.bytes <= limits.queuedBytes else { return nil }
        let serial = handOver(message)
        if output.bytes >= OutputBuffer.pieceSize {
            // Many bytes do not wait for the end of the round, because they take memory and count for the limits.
            write()
            guard state == .open else { throw .disconnected }
        }
        // An answer or the next call may arrive sooner than this thread could sleep and wake up.
        loop.expectInput()
        return serial
    }

    private func handOver(_ message: WrittenMessage) -> UInt32 {
        let serial = nextSerial()
        output.append(message, as: serial)
        scheduleWriting()
        return serial
    }

    /// The number of descriptors on their way to the socket above which messages with descriptors wait.
    private static let descriptorsOnTheWay = 64

    /// Sends the answer to a call of another program, unless too many bytes wait for the bus.
    ///
    /// A caller must not be able to end the connection of a service. A large answer is therefore replaced by an error, and
    /// an error for which there is no room is left out. The room that stays free is for signals. Without a bus, the other end is the only caller, and ``send(_:)`` ends the connection.
    ///
    /// - Returns: False if the answer is too large for the room.
    func sendAnswer(_ message: WrittenMessage, to caller: ReplyAddress, isError: Bool) throws(CallError) -> Bool {
        let free = limits.unreadBytes - waitingBytes - message.size
        if uniqueName != nil, free < (isError ? 1 : 2) * limits.queuedBytes { return false }
        try send(message)
        countSent(message, to: caller.sender)
        return true
    }

    /// The bytes that wait for the other end.
    var waitingBytes: Int { output.bytes + queue.bytes }

    /// Whether the bytes that wait for the other end are within the limit.
    private var isReading: Bool { waitingBytes <= limits.unreadBytes }

    /// Whether a message would not wait for earlier ones.
    var hasRoom: Bool { queue.isEmpty && output.bytes <= limits.queuedBytes }

    private var mayHandOver: Bool {
        output.bytes <= limits.queuedBytes / 2 && output.descriptors <= Self.descriptorsOnTheWay / 2
    }

    var hasMessagesToSend: Bool { !queue.isEmpty || !output.isEmpty }

    /// Hands over waiting messages until enough bytes are on their way to the socket.
    ///
    /// The method also ends a connection whose other end takes nothing, and a closing connection whose last message has
    /// been written.
    func sendQueued() {
        guard state == .open || state == .closing else { return }
        if !isReading { return disconnect(.unread) }
        if !queue.isEmpty || waiters.contains(.room) {
            while mayHandOver, let next = queue.popFirst() {
                switch next {
                case .call(let number): sendQueuedCall(number)
                case .message(let message): _ = handOver(message)
                }
            }
            if queue.isEmpty, mayHandOver { waiters.resumeAll(.room) }
        }
        if state == .closing, !hasMessagesToSend { disconnect(.closed) }
    }

    private func sendQueuedCall(_ number: UInt64) {
        guard let message = pendingCalls[number]?.unsent else { return }
        markSent(number, as: handOver(message))
    }

    // MARK: Writing

    /// Writes the messages on their way at the end of the loop's round of jobs, so that those of a round need one system call.
    private func scheduleWriting() {
        guard !writingIsScheduled else { return }
        writingIsScheduled = true
        loop.execute {
            self.assumeIsolated { connection in
                connection.writingIsScheduled = false
                connection.write()
                connection.startCall()
            }
        }
    }

    /// Writes as much as the socket takes, and then what waited for room.
    func write() {
        guard state == .open || state == .closing, authentication == nil else { return }
        while !output.isEmpty {
            switch output.write(to: socket) {
            case .written: break
            case .full:
                waitForWriting()
                return sendQueued()
            // Earlier messages of the other end can still be read, and then its end.
            case .ended: output = OutputBuffer()
            case .failed: return disconnect(.disconnected)
            }
            if output.isEmpty { sendQueued() }
        }
        outputWatch?.isEnabled = false
        sendQueued()
    }

    private func waitForWriting() {
        if let outputWatch { return outputWatch.isEnabled = true }
        outputWatch = loop.watch(socket, for: .writable) { [unowned self] _ in
            assumeIsolated { connection in
                connection.write()
                connection.startCall()
            }
        }
    }

    /// Waits until the other end has taken most of the messages.
    ///
    /// The method returns when at most ``ConnectionLimits/queuedBytes`` are waiting, when the connection has ended, or
    /// when the task is cancelled.
    ///
    /// A method call waits for its answer and so limits its caller's speed by itself. A program that emits signals or
    /// sends calls without answers may be faster than the other end. Such a program should call this method regularly,
    /// because a connection with more than ``ConnectionLimits/unreadBytes`` waiting is ended.
    public func waitForRoom() async {
        await wait(for: .room)
    }

    /// The number of messages that wait for the other end to take earlier ones.
    var queuedMessages: Int { queue.count }
}
