internal import CDBus
internal import DequeModule
internal import Reactor

/// What waits for the other end to take what was sent before, in order.
struct OutgoingQueue {
    struct Entry {
        let serial: UInt32
        /// Nil of a call: whoever waits for its answer holds its message, and it is not sent once nobody does.
        let message: Message?
    }

    private var entries: Deque<Entry> = []
    private var abandoned = 0
    /// Bytes of what nobody waits for an answer to.
    private(set) var bytes = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    /// What a descriptor costs, in bytes: a process has few.
    private static let descriptorBytes = 64 << 10

    private func cost(_ message: Message) -> Int {
        message.size + (dbus_message_contains_unix_fds(message.pointer) != 0 ? Self.descriptorBytes : 0)
    }

    mutating func append(_ message: Message, as serial: UInt32) {
        bytes += cost(message)
        entries.append(Entry(serial: serial, message: message))
    }

    mutating func append(callWith serial: UInt32) {
        entries.append(Entry(serial: serial, message: nil))
    }

    mutating func popFirst() -> Entry? {
        guard let entry = entries.popFirst() else { return nil }
        if let message = entry.message { bytes -= cost(message) }
        return entry
    }

    /// Notes that nobody waits any more for a call in the queue; when most are such remains, they go.
    mutating func abandonCall(_ isNeeded: (UInt32) -> Bool) {
        abandoned += 1
        guard abandoned > entries.count / 2 + 64 else { return }
        entries.removeAll { $0.message == nil && !isNeeded($0.serial) }
        abandoned = 0
    }
}

/// What becomes of a message that is sent.
extension Connection {
    /// Sends a message that nobody waits for an answer to.
    func send(_ message: Message) throws(CallError) {
        let serial = nextSerial()
        if try transmit(message, as: serial) { return }
        queue.append(message, as: serial)
        guard isReading else {
            disconnect(.unread)
            throw .disconnected
        }
    }

    /// Hands a message to libdbus when nothing has to wait.
    ///
    /// - Returns: false when it has to.
    func transmit(_ message: Message, as serial: UInt32) throws(CallError) -> Bool {
        guard state == .open, let raw, dbus_connection_get_is_connected(raw) != 0 else { throw .disconnected }
        if dbus_message_contains_unix_fds(message.pointer) != 0 {
            // libdbus drops such a message without a word, and its caller would wait until the deadline.
            if dbus_connection_can_send_type(raw, TypeCode.unixFD) == 0 { throw .notSent(.descriptorNotPassed) }
            if dbus_connection_get_outgoing_unix_fds(raw) >= Self.descriptorsOnTheWay { return false }
        }
        guard queue.isEmpty, dbus_connection_get_outgoing_size(raw) <= limits.queuedBytes else { return false }
        try handOver(message, as: serial)
        // An answer, or the next call, may be there sooner than this thread could sleep and wake.
        loop.expectInput()
        // libdbus writes at once what it can, and where that was everything no event tells of room.
        if waiters.contains(.room) { sendQueued() }
        return true
    }

    private func handOver(_ message: Message, as serial: UInt32) throws(CallError) {
        dbus_message_set_serial(message.pointer, serial)
        guard dbus_connection_send(raw, message.pointer, nil) != 0 else { throw .notSent(.outOfMemory) }
    }

    /// How many descriptors libdbus holds for the other end before others wait here.
    private static let descriptorsOnTheWay: CLong = 64

    /// Whether the other end takes enough of what is sent, libdbus's own answers included.
    private var isReading: Bool {
        guard let raw else { return true }
        return dbus_connection_get_outgoing_size(raw) + queue.bytes <= limits.unreadBytes
    }

    /// Whether a message that is sent now would be on its way at once.
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

    /// Sends what waited for the other end to take what was sent before, until enough is on its way again; ends a connection
    /// whose other end takes nothing, or that waits for its last message to be taken.
    ///
    /// libdbus tells of neither: it writes when it is handed a message, when it answers one by itself and when the socket
    /// has room, so this is called after each of them.
    func sendQueued() {
        guard state == .open || state == .closing else { return }
        if !isReading { return disconnect(.unread) }
        if !queue.isEmpty || waiters.contains(.room) {
            while mayHandOver, let next = queue.popFirst() {
                guard let message = next.message ?? takeUnsentCall(next.serial) else { continue }
                do throws(CallError) {
                    try handOver(message, as: next.serial)
                } catch {
                    fail(next.serial, error)
                }
            }
            if queue.isEmpty, mayHandOver { waiters.resumeAll(.room) }
        }
        if state == .closing, !hasMessagesToSend { disconnect(.closed) }
    }

    private func takeUnsentCall(_ serial: UInt32) -> Message? {
        defer { pendingCalls[serial]?.unsent = nil }
        return pendingCalls[serial]?.unsent
    }

    /// Returns when what was sent is on its way, but for less than ``ConnectionLimits/queuedBytes``, when the connection has
    /// ended, or when the task is cancelled.
    ///
    /// A call waits for its answer and so slows its caller down by itself. Whoever emits or sends without waiting, faster
    /// than the other end may read, waits here in between: a connection that more than ``ConnectionLimits/unreadBytes`` wait
    /// on is ended.
    public func waitForRoom() async {
        await wait(for: .room)
    }

    /// Messages that wait for the other end to take earlier ones.
    var queuedMessages: Int { queue.count }
}
