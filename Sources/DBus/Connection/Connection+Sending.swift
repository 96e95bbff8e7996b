internal import Reactor

/// The sending of messages.
extension Connection {
    /// Sends a message that needs no answer.
    ///
    /// - Parameter receiver: The program that has called this one, and gets the message; nil for another receiver.
    func send(_ message: WrittenMessage, to receiver: BusName? = nil) throws(CallError) {
        if try transmit(message) == nil {
            outgoing.enqueue(.message(message))
            server.countWaiting(on: self)
            guard outgoing.isRead else {
                disconnect(.unread)
                throw .disconnected
            }
        }
        UnreadAnswers.countSent(message.size, to: receiver, on: self)
    }

    /// Number of messages after which a connection without a bus writes. The other end can then begin with them on another
    /// processor, while this one makes the next ones.
    ///
    /// A bus gets all messages of a burst at once. Smaller groups do not make it faster, and each one wakes it up.
    private static let messagesPerWrite = 16

    /// Hands a message over for writing, unless it has to wait for earlier ones.
    ///
    /// - Returns: The message's serial; nil if it has to wait.
    func transmit(_ message: WrittenMessage) throws(CallError) -> UInt32? {
        guard state == .open else { throw .disconnected }
        // The other end would drop the message, and the caller would wait until the deadline.
        if !message.descriptors.isEmpty, !passesDescriptors { throw .notSent(.descriptorNotPassed) }
        guard outgoing.hasRoom(for: message) else { return nil }
        let serial = handOver(message)
        if outgoing.isLarge || uniqueName == nil && outgoing.messagesSinceWrite >= Self.messagesPerWrite,
            message.descriptors.isEmpty
        {
            // A message with descriptors may be dropped, and its call cannot fail before it is recorded.
            write()
            guard state == .open else { throw .disconnected }
        }
        // An answer or the next call may well arrive sooner than this thread could fall asleep and wake up.
        loop.expectInput()
        return serial
    }

    /// Hands a message over, to be written when the loop has no jobs left, so that the messages of many jobs need only
    /// a few system calls.
    private func handOver(_ message: WrittenMessage) -> UInt32 {
        let serial = pendingCalls.nextSerial()
        outgoing.append(message, as: serial)
        if !writingIsScheduled {
            writingIsScheduled = true
            loop.executeAfterJobs {
                self.assumeIsolated { connection in
                    connection.writingIsScheduled = false
                    connection.write()
                    connection.server.startCall(on: connection)
                }
            }
        }
        return serial
    }

    /// Hands over waiting messages until enough bytes are on their way to the socket.
    ///
    /// This also ends a connection whose other end takes nothing, and a closing connection whose last message has been
    /// written.
    func sendQueued() {
        guard state == .open || state == .closing else { return }
        if !outgoing.isRead { return disconnect(.unread) }
        if outgoing.queuedMessages > 0 || waiters.contains(.room) {
            while let next = outgoing.dequeue() {
                switch next {
                case .call(let number):
                    guard let message = pendingCalls.unsentMessage(of: number) else { continue }
                    let serial = handOver(message)
                    pendingCalls.markSent(number, as: serial)
                case .message(let message): _ = handOver(message)
                }
            }
            if outgoing.hasAmpleRoom { waiters.resumeAll(.room) }
        }
        if state == .closing, outgoing.isEmpty { disconnect(.closed) }
    }

    /// Writes as much as the socket takes, then whatever waited for room.
    func write() {
        guard state == .open || state == .closing, authentication == nil else { return }
        defer { server.countWaiting(on: self) }
        while !outgoing.isWritten {
            switch outgoing.write(to: socket) {
            case .written: break
            case .dropped(let serial):
                if let number = pendingCalls.number(sentAs: serial) { fail(number, .notSent(.descriptorNotPassed)) }
            case .full:
                if let outputWatch {
                    outputWatch.isEnabled = true
                } else {
                    outputWatch = loop.watch(socket, for: .writable) { [unowned self] _ in
                        assumeIsolated { connection in
                            connection.write()
                            connection.server.startCall(on: connection)
                        }
                    }
                }
                return sendQueued()
            // Messages that the other end sent earlier can still be read, followed by the end of the input.
            case .ended: break
            case .failed: return disconnect(.disconnected)
            }
            if outgoing.isWritten { sendQueued() }
        }
        outputWatch?.isEnabled = false
        sendQueued()
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
}
