internal import DequeModule
internal import Reactor

/// The messages that are waiting until the other end has taken earlier ones, in order.
struct OutgoingQueue {
    enum Entry {
        case message(WrittenMessage)
        /// A call, by its number. Its message stays in its ``PendingCall``, so a cancelled call is never sent.
        case call(UInt64)
    }

    private var entries: Deque<Entry> = []
    private var abandoned = 0
    /// Number of bytes in all messages except calls.
    private(set) var bytes = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    /// The number of bytes that a descriptor counts as. Descriptors have a limit too, because a process has few of
    /// them.
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

    /// Records that no task is waiting for a queued call any longer. Once such calls fill more than half of the queue,
    /// they are removed.
    mutating func abandonCall(_ isNeeded: (UInt64) -> Bool) {
        abandoned += 1
        guard abandoned > entries.count / 2 + 64 else { return }
        entries.removeAll { if case .call(let number) = $0 { !isNeeded(number) } else { false } }
        abandoned = 0
    }
}

/// The sending of messages.
extension Connection {
    /// Sends a message that needs no answer.
    func send(_ message: WrittenMessage) throws(CallError) {
        if try transmit(message) != nil { return }
        queue.append(message)
        countWaiting()
        guard isReading else {
            disconnect(.unread)
            throw .disconnected
        }
    }

    /// Hands a message over for writing, unless it has to wait for earlier ones.
    ///
    /// - Returns: The message's serial; nil if it has to wait.
    func transmit(_ message: WrittenMessage) throws(CallError) -> UInt32? {
        guard state == .open else { throw .disconnected }
        if !message.descriptors.isEmpty {
            // The other end would drop the message, and the caller would wait until the deadline.
            if !passesDescriptors { throw .notSent(.descriptorNotPassed) }
            if output.descriptors >= Self.descriptorsOnTheWay { return nil }
        }
        guard queue.isEmpty, output.bytes <= limits.queuedBytes else { return nil }
        let serial = handOver(message)
        if output.bytes >= OutputBuffer.pieceSize, message.descriptors.isEmpty {
            // Write large amounts right away, because they take up memory and count towards the limits. A message with
            // descriptors may be dropped, and its call cannot fail before it is recorded.
            write()
            guard state == .open else { throw .disconnected }
        }
        // An answer or the next call may well arrive sooner than this thread could fall asleep and wake up.
        loop.expectInput()
        return serial
    }

    private func handOver(_ message: WrittenMessage) -> UInt32 {
        let serial = nextSerial()
        output.append(message, as: serial)
        scheduleWriting()
        return serial
    }

    /// Number of descriptors on their way to the socket above which messages with descriptors have to wait.
    private static let descriptorsOnTheWay = 64

    /// Sends the answer to another program's call, unless too many bytes are waiting for the other end.
    ///
    /// A caller must not be able to end a service's connection. So an answer that is too large is replaced by an error,
    /// and if there is no room for the error, it is left out. The room that stays free is for signals.
    ///
    /// Without a bus, the other end is the only caller. Its answers wait in this program, and are also replaced by
    /// errors if its account leaves too much unread and the answer would make this connection leave more. If it does
    /// not read the errors either, ``send(_:)`` ends the connection.
    ///
    /// - Returns: False if there is no room for the answer.
    func sendAnswer(_ message: WrittenMessage, to caller: ReplyAddress, isError: Bool) throws(CallError) -> Bool {
        let free = limits.unreadBytes - waitingBytes - message.size
        if free < (isError ? 1 : 2) * limits.queuedBytes, uniqueName != nil || !isError { return false }
        // The account's other connections may well read. Without its answer, a caller would repeat what has been done.
        if uniqueName == nil, !isError, waitingBytes + message.size > IncomingCalls.fewBytes,
            incomingCalls.isHeld(caller.sender)
        {
            return false
        }
        try send(message)
        countSent(message, to: caller.sender)
        return true
    }

    /// Whether a signal to a program is to be dropped, because the program does not read.
    ///
    /// Without a bus, half of the room for waiting messages is for answers.
    func dropsSignals(to receiver: BusName) -> Bool {
        if uniqueName != nil { return incomingCalls.isHeld(receiver) }
        if waitingBytes > limits.unreadBytes / 2 { return true }
        return waitingBytes > IncomingCalls.fewBytes && incomingCalls.isHeld(receiver)
    }

    /// Number of bytes that are waiting for the other end.
    var waitingBytes: Int { output.bytes + queue.bytes }

    /// Without a bus, counts the bytes that are waiting for the other end. A connection that is closing has left its
    /// account.
    private func countWaiting() {
        if uniqueName == nil, state == .open { incomingCalls.setWaiting(waitingBytes, for: peerName) }
    }

    /// Whether few enough bytes are waiting for the other end.
    private var isReading: Bool { waitingBytes <= limits.unreadBytes }

    /// Whether a message would be sent without waiting for earlier ones.
    var hasRoom: Bool { queue.isEmpty && output.bytes <= limits.queuedBytes }

    private var mayHandOver: Bool {
        output.bytes <= limits.queuedBytes / 2 && output.descriptors <= Self.descriptorsOnTheWay / 2
    }

    var hasMessagesToSend: Bool { !queue.isEmpty || !output.isEmpty }

    /// Hands over waiting messages until enough bytes are on their way to the socket.
    ///
    /// This also ends a connection whose other end takes nothing, and a closing connection whose last message has been
    /// written.
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

    /// Schedules writing for when the loop has no jobs left, so that the messages of many jobs need only one system call.
    private func scheduleWriting() {
        guard !writingIsScheduled else { return }
        writingIsScheduled = true
        loop.executeAfterJobs {
            self.assumeIsolated { connection in
                connection.writingIsScheduled = false
                connection.write()
                connection.startCall()
            }
        }
    }

    /// Writes as much as the socket takes, then whatever waited for room.
    func write() {
        guard state == .open || state == .closing, authentication == nil else { return }
        defer { countWaiting() }
        while !output.isEmpty {
            switch output.write(to: socket) {
            case .written: break
            case .dropped(let serial):
                if let number = sentCalls[serial] { fail(number, .notSent(.descriptorNotPassed)) }
            case .full:
                waitForWriting()
                return sendQueued()
            // Messages that the other end sent earlier can still be read, followed by the end of the input.
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
    /// It returns when at most ``ConnectionLimits/queuedBytes`` are waiting, when the connection has ended, or when the
    /// task is cancelled.
    ///
    /// You do not need this for method calls, because waiting for the answers slows the caller down. But if you emit
    /// signals or send calls without answers, you may be faster than the other end. Call this method regularly then,
    /// because a connection ends once more than ``ConnectionLimits/unreadBytes`` are waiting.
    public func waitForRoom() async {
        await wait(for: .room)
    }

    /// Number of messages that are waiting until the other end has taken earlier ones.
    var queuedMessages: Int { queue.count }
}
