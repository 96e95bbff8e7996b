internal import CDBus
internal import DequeModule
internal import Reactor

/// The messages that wait until the other end has taken earlier ones, in order.
struct OutgoingQueue {
    enum Entry {
        case message(Message)
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

    private func cost(_ message: Message) -> Int {
        message.size + (dbus_message_contains_unix_fds(message.pointer) != 0 ? Self.descriptorBytes : 0)
    }

    mutating func append(_ message: Message) {
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
    func send(_ message: Message) throws(CallError) {
        if try transmit(message) != nil { return }
        queue.append(message)
        guard isReading else {
            disconnect(.unread)
            throw .disconnected
        }
    }

    /// Hands a message to libdbus, unless the message has to wait for earlier ones.
    ///
    /// - Returns: The serial of the message; nil if the message has to wait.
    func transmit(_ message: Message) throws(CallError) -> UInt32? {
        guard state == .open, let raw, dbus_connection_get_is_connected(raw) != 0 else { throw .disconnected }
        if dbus_message_contains_unix_fds(message.pointer) != 0 {
            // libdbus silently drops a message with descriptors if the other end does not accept them. The caller would
            // then wait until the deadline.
            if dbus_connection_can_send_type(raw, TypeCode.unixFD) == 0 { throw .notSent(.descriptorNotPassed) }
            if dbus_connection_get_outgoing_unix_fds(raw) >= Self.descriptorsOnTheWay { return nil }
        }
        guard queue.isEmpty, dbus_connection_get_outgoing_size(raw) <= limits.queuedBytes else { return nil }
        let serial = try handOver(message)
        // An answer or the next call may arrive sooner than this thread could sleep and wake up.
        loop.expectInput()
        // libdbus immediately writes as much as it can. If it has written everything, no later event reports that there
        // is room.
        if waiters.contains(.room) { sendQueued() }
        return serial
    }

    private func handOver(_ message: Message) throws(CallError) -> UInt32 {
        let serial = nextSerial()
        dbus_message_set_serial(message.pointer, serial)
        guard dbus_connection_send(raw, message.pointer, nil) != 0 else { throw .notSent(.outOfMemory) }
        return serial
    }

    /// The number of descriptors in libdbus's queue above which messages with descriptors wait in the program.
    private static let descriptorsOnTheWay: CLong = 64

    /// Sends the answer to a call of another program, unless too many bytes wait for the bus.
    ///
    /// A caller must not be able to end the connection of a service. A large answer is therefore replaced by an error, and
    /// an error for which there is no room is left out. The room that stays free is for signals. Without a bus, the other end is the only caller, and ``send(_:)`` ends the connection.
    ///
    /// - Returns: False if the answer is too large for the room.
    func sendAnswer(_ message: Message, to caller: ReplyAddress, isError: Bool) throws(CallError) -> Bool {
        let free = limits.unreadBytes - waitingBytes - message.size
        if uniqueName != nil, free < (isError ? 1 : 2) * limits.queuedBytes { return false }
        try send(message)
        countSent(message, to: caller.sender)
        return true
    }

    /// The bytes that wait for the other end, including libdbus's own answers.
    var waitingBytes: Int {
        guard let raw else { return 0 }
        return dbus_connection_get_outgoing_size(raw) + queue.bytes
    }

    /// Whether the bytes that wait for the other end are within the limit.
    private var isReading: Bool { waitingBytes <= limits.unreadBytes }

    /// Whether a message would be handed to libdbus immediately.
    var hasRoom: Bool {
        guard let raw else { return true }
        return queue.isEmpty && dbus_connection_get_outgoing_size(raw) <= limits.queuedBytes
    }

    private var mayHandOver: Bool {
        guard let raw else { return false }
        return dbus_connection_get_outgoing_size(raw) <= limits.queuedBytes / 2
            && dbus_connection_get_outgoing_unix_fds(raw) <= Self.descriptorsOnTheWay / 2
    }

    var hasMessagesToSend: Bool {
        guard let raw else { return false }
        return !queue.isEmpty || dbus_connection_has_messages_to_send(raw) != 0
    }

    /// Sends waiting messages until enough bytes are in libdbus's queue.
    ///
    /// The method also ends a connection whose other end takes nothing, and a closing connection whose last message has
    /// been written. libdbus reports neither event. Bytes may leave or enter its queue when libdbus is handed a
    /// message, answers a message by itself, or finds room in the socket, so this method is called after each of these.
    func sendQueued() {
        guard state == .open || state == .closing else { return }
        if !isReading { return disconnect(.unread) }
        if !queue.isEmpty || waiters.contains(.room) {
            while mayHandOver, let next = queue.popFirst() {
                switch next {
                case .call(let number): sendQueuedCall(number)
                case .message(let message):
                    do throws(CallError) {
                        _ = try handOver(message)
                    } catch {
                        // No task waits for the message, and the memory for it ran out.
                    }
                }
            }
            if queue.isEmpty, mayHandOver { waiters.resumeAll(.room) }
        }
        if state == .closing, !hasMessagesToSend { disconnect(.closed) }
    }

    private func sendQueuedCall(_ number: UInt64) {
        guard let message = pendingCalls[number]?.unsent else { return }
        do throws(CallError) {
            markSent(number, as: try handOver(message))
        } catch {
            fail(number, error)
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
