internal import CDBus
internal import DequeModule
public import Reactor

/// A connection to a message bus: calls others, and exports objects that others call.
///
/// All of libdbus runs on the event loop's thread, which is the actor's executor: no lock, no hop between a message and
/// what it leads to, and one order of events, that of arrival. Another actor on the same loop calls this one without
/// changing threads.
///
/// A connection lives until ``close()`` or until the bus goes away, whether or not somebody holds it; after that every
/// call fails with ``CallError/disconnected`` and the tasks of exported methods are cancelled. It does not connect again
/// by itself, as its unique name, its well-known names and what it watched are gone with the bus.
public actor Connection {
    /// The event loop that carries the connection.
    public nonisolated let loop: EventLoop
    /// The name that the bus gave this connection; nil without a bus.
    public nonisolated let uniqueName: BusName?
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let limits: ConnectionLimits
    let raw: OpaquePointer
    private(set) var state = State.open
    private var closeWaiters: [CheckedContinuation<Void, Never>] = []
    private var closeTimer: TimerID?

    var watches = LibraryWatches()
    var dispatchIsScheduled = false
    var isDispatching = false

    /// Begins anywhere, so that nobody who does not see the calls can answer them by guessing.
    private var lastSerial = UInt32.random(in: 1024...UInt32.max / 2)
    private var pendingCalls: [UInt32: PendingCall] = [:]
    private var queue: Deque<QueuedMessage> = []
    private var roomWaiters: [CheckedContinuation<Void, Never>] = []

    var objects = ObjectTree()
    var incomingCalls = IncomingCalls()
    var matches: [String: Match] = [:]
    var nameWatches = NameWatches()
    var subscriptions = Subscriptions()

    enum State {
        case open
        /// ``Connection/close()`` was called, and what was sent before is still being written.
        case closing
        /// The other end is gone, or everything is written; libdbus's object is still there.
        case disconnected
        case released
    }

    private struct PendingCall {
        let destination: BusName?
        let timer: TimerID?
        /// Takes the answer, or the reason why there is none. Whoever removes the entry calls it, exactly once.
        let complete: (Result<LibraryPointer, CallError>) -> Void
    }

    private struct QueuedMessage {
        let message: Message
        let serial: UInt32
        /// Whether somebody waits for the answer: a call that was cancelled meanwhile is not sent at all.
        let isCall: Bool
    }

    // MARK: Opening and closing

    /// Connects to a bus.
    ///
    /// The loop's thread is blocked while the bus is reached and says hello, about a millisecond.
    ///
    /// - Throws: ``ConnectionError`` with libdbus's own words when the bus cannot be reached.
    public static func open(
        _ address: BusAddress = .session,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits()
    ) async throws(ConnectionError) -> Connection {
        try await loop.run { () throws(ConnectionError) -> Connection in
            let connection = Connection(raw: LibraryPointer(pointer: try address.connect()), on: loop, limits: limits)
            guard connection.assumeIsolated({ $0.attach() }) else { throw .outOfMemory }
            return connection
        }
    }

    init(raw: LibraryPointer, on loop: EventLoop, limits: ConnectionLimits) {
        self.raw = raw.pointer
        self.loop = loop
        self.limits = limits
        uniqueName = dbus_bus_get_unique_name(raw.pointer).map { BusName(trusted: String(cString: $0)) }
    }

    /// How long ``close()`` waits for the other end to take what was sent.
    private static let closingTime = Duration.seconds(5)

    /// Ends the connection: every call in flight fails at once, and names are given back.
    ///
    /// It returns when what was sent before has been written, the other end is gone, or five seconds are over.
    public func close() async {
        if state == .open {
            endCalls()
            if hasMessagesToSend {
                state = .closing
                closeTimer = loop.schedule(at: .now + Self.closingTime) { self.assumeIsolated { $0.disconnect() } }
            } else {
                disconnect()
            }
        }
        await waitUntilClosed()
    }

    /// Returns when the connection has ended, by ``close()`` or because the bus went away.
    public func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            if state == .released { continuation.resume() } else { closeWaiters.append(continuation) }
        }
    }

    /// Ends what waits for the other end, and what the other end waits for.
    private func endCalls() {
        let calls = pendingCalls
        pendingCalls = [:]
        for call in calls.values {
            if let timer = call.timer { loop.cancelTimer(timer) }
            call.complete(.failure(.disconnected))
        }
        incomingCalls.cancelAll()
        matches = [:]
        nameWatches = NameWatches()
        subscriptions.finish()
    }

    /// Ends the connection now.
    func disconnect() {
        guard state == .open || state == .closing else { return }
        if state == .open { endCalls() }
        if let closeTimer { loop.cancelTimer(closeTimer) }
        state = .disconnected
        queue = []
        resumeRoomWaiters()
        // libdbus may be in the middle of a callback now, so its object goes in a turn of its own.
        loop.execute { self.assumeIsolated { $0.release() } }
    }

    private func release() {
        detach()
        state = .released
        for waiter in closeWaiters { waiter.resume() }
        closeWaiters = []
    }

    // MARK: Sending

    /// Serials are our own, so that a call's is known before it is sent.
    private func nextSerial() -> UInt32 {
        repeat {
            lastSerial = lastSerial == .max ? 1024 : lastSerial + 1
        } while pendingCalls[lastSerial] != nil
        return lastSerial
    }

    private func send(_ message: Message, as serial: UInt32, isCall: Bool = false) throws(CallError) {
        guard state == .open, dbus_connection_get_is_connected(raw) != 0 else { throw .disconnected }
        // libdbus drops such a message without a word, and its caller would wait until the deadline.
        if dbus_message_contains_unix_fds(message.pointer) != 0,
            dbus_connection_can_send_type(raw, TypeCode.unixFD) == 0
        {
            throw .notSent(.descriptorNotPassed)
        }
        guard queue.isEmpty, dbus_connection_get_outgoing_size(raw) <= limits.queuedBytes else {
            queue.append(QueuedMessage(message: message, serial: serial, isCall: isCall))
            return
        }
        try transmit(message, as: serial)
    }

    private func transmit(_ message: Message, as serial: UInt32) throws(CallError) {
        dbus_message_set_serial(message.pointer, serial)
        guard dbus_connection_send(raw, message.pointer, nil) != 0 else { throw .notSent(.outOfMemory) }
    }

    /// Sends a message that nobody waits for an answer to.
    func send(_ message: Message) throws(CallError) {
        try send(message, as: nextSerial())
    }

    var hasMessagesToSend: Bool { !queue.isEmpty || dbus_connection_has_messages_to_send(raw) != 0 }

    /// Sends what waited for the other end to take what was sent before, in order, until enough is on its way again.
    func sendQueued() {
        while dbus_connection_get_outgoing_size(raw) <= limits.queuedBytes / 2, let next = queue.popFirst() {
            if next.isCall, pendingCalls[next.serial] == nil { continue }
            do throws(CallError) {
                try transmit(next.message, as: next.serial)
            } catch {
                fail(next.serial, error)
            }
        }
        if queue.isEmpty, dbus_connection_get_outgoing_size(raw) <= limits.queuedBytes / 2 { resumeRoomWaiters() }
    }

    private func resumeRoomWaiters() {
        for waiter in roomWaiters { waiter.resume() }
        roomWaiters = []
    }

    /// Returns when what was sent is on its way, but for less than ``ConnectionLimits/queuedBytes``, or the connection has
    /// ended.
    ///
    /// A call waits for its answer and so slows its caller down by itself. Whoever emits or sends without waiting, faster
    /// than the other end may read, waits here in between.
    public func waitForRoom() async {
        await withTaskExecutorPreference(loop) { await room() }
    }

    private func room() async {
        await withCheckedContinuation { continuation in
            let isFull = !queue.isEmpty || dbus_connection_get_outgoing_size(raw) > limits.queuedBytes
            if state == .open, isFull { roomWaiters.append(continuation) } else { continuation.resume() }
        }
    }

    /// Calls a method and waits for its answer.
    ///
    /// Calls that one task makes on one destination arrive there in that order.
    ///
    /// - Parameter timeout: how long to wait; nil waits until the other end answers or goes away. 25 s is D-Bus's custom.
    /// - Throws: ``CallError``; when the task is cancelled the call fails at once, and the other end may act all the same.
    public func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) -> Output {
        let message = try methodCall(method, on: object, input)
        let destination = object.destination
        let serial = nextSerial()
        // What resumes a task hands it to the executor that it prefers, and only from there it comes back to its actor: by
        // way of another thread, and out of order, unless that is the loop itself.
        let result: Result<Output, CallError> = await withTaskExecutorPreference(loop) {
            await withTaskCancellationHandler {
                await answer(to: message, destination, serial, timeout)
            } onCancel: {
                loop.execute { self.assumeIsolated { $0.fail(serial, .cancelled) } }
            }
        }
        return try result.get()
    }

    /// Sends a call and waits for its answer.
    private func answer<Output: MessageBody>(
        to message: Message,
        _ destination: BusName?,
        _ serial: UInt32,
        _ timeout: Duration?
    ) async -> Result<Output, CallError> {
        await withCheckedContinuation { continuation in
            // All of this is one step on the loop's thread: neither an answer nor the end of the task overtakes it.
            if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
            do throws(CallError) {
                try send(message, as: serial, isCall: true)
            } catch {
                return continuation.resume(returning: .failure(error))
            }
            let timer = timeout.map { timeout in
                loop.schedule(at: .now + min(timeout, .longest)) {
                    self.assumeIsolated { $0.fail(serial, .timedOut) }
                }
            }
            pendingCalls[serial] = PendingCall(destination: destination, timer: timer) { [limits] reply in
                continuation.resume(returning: reply.flatMap { Message.result($0.pointer, limit: limits.messageBytes) })
            }
        }
    }

    /// Reads a property.
    ///
    /// - Throws: ``CallError``; a property of another type is ``CallError/unexpectedReply(_:)``.
    public func get<Content: DBusType>(
        _ property: Property<Content>,
        on object: RemoteObject,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) -> Content {
        let input = Arguments(property.interface.rawValue, property.name.rawValue)
        let answer = try await call(StandardInterfaces.getProperty(Content.self), on: object, input, timeout: timeout)
        return answer.content
    }

    /// Calls a method without wanting an answer.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``; nothing tells whether it arrived.
    public func send<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) {
        let message = try methodCall(method, on: object, input)
        dbus_message_set_no_reply(message.pointer, 1)
        try send(message)
    }

    private func methodCall<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> Message {
        do throws(EncodingError) {
            return try .methodCall(method.interface, method.name, on: object, input, limit: limits.messageBytes)
        } catch {
            throw .notSent(error)
        }
    }

    /// Emits a signal to everyone who subscribed to it.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``.
    public func emit<Body: MessageBody>(
        _ signal: Signal<Body>,
        from path: ObjectPath,
        _ body: Body
    ) throws(CallError) {
        let message: Message
        do throws(EncodingError) {
            message = try .signal(signal.interface, signal.name, from: path, body, limit: limits.messageBytes)
        } catch {
            throw .notSent(error)
        }
        try send(message)
    }

    /// Calls of this connection that wait for their answer.
    var callsInFlight: Int { pendingCalls.count }

    /// Messages that wait for the other end to take earlier ones.
    var queuedMessages: Int { queue.count }

    private func fail(_ serial: UInt32, _ error: CallError) {
        guard let call = pendingCalls.removeValue(forKey: serial) else { return }
        if let timer = call.timer { loop.cancelTimer(timer) }
        call.complete(.failure(error))
    }

    // MARK: Receiving

    /// Whether an answer comes from the connection that was called, or from the bus in its place: a session bus delivers
    /// answers that nobody asked for. Who owns a well-known name is not known here.
    private func isAnswer(_ pointer: OpaquePointer, from destination: BusName?) -> Bool {
        guard uniqueName != nil, let destination, destination.isUnique || destination == .bus else { return true }
        let sender = dbus_message_get_sender(pointer).map { String(cString: $0) }
        return sender == destination.rawValue || sender == BusName.bus.rawValue
    }

    /// Takes a message off libdbus's hands.
    ///
    /// - Returns: whether libdbus has nothing more to do with it.
    func receive(_ message: LibraryPointer) -> Bool {
        let pointer = message.pointer
        switch dbus_message_get_type(pointer) {
        case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR:
            let serial = dbus_message_get_reply_serial(pointer)
            guard let call = pendingCalls[serial], isAnswer(pointer, from: call.destination) else { return false }
            pendingCalls[serial] = nil
            if let timer = call.timer { loop.cancelTimer(timer) }
            call.complete(.success(message))
            return true
        case DBUS_MESSAGE_TYPE_METHOD_CALL:
            // A call that arrived before the end and was not begun by then is not begun at all.
            if state == .open { receiveCall(pointer) }
            return true
        case DBUS_MESSAGE_TYPE_SIGNAL:
            if dbus_message_is_signal(pointer, DBUS_INTERFACE_LOCAL, "Disconnected") != 0 {
                disconnect()
            } else if state == .open {
                receiveSignal(pointer)
            }
            return true
        default:
            return false
        }
    }
}

/// How much a connection takes from others, and from its own program.
public struct ConnectionLimits: Sendable, Hashable {
    /// Calls of one sender that wait for their answer; one more is answered with `LimitsExceeded`.
    public var callsPerSender = 8192
    /// Calls of all senders together.
    public var calls = 65_536
    /// Bytes of values in one call's arguments.
    public var bodyBytes = 1 << 20
    /// Bytes of messages that have arrived and are not read yet; above it the socket is left alone.
    public var receivedBytes = 16 << 20
    /// Bytes of a message that is sent, up to ``largestMessage``.
    public var messageBytes = 16 << 20 {
        didSet { messageBytes = min(max(messageBytes, 0), Self.largestMessage) }
    }

    /// Bytes that are sent and that the other end has not taken yet; above it messages wait their turn in the program, where
    /// a call that is cancelled is never sent.
    public var queuedBytes = 4 << 20

    /// What D-Bus allows in an array, 64 MiB; a message may have twice that, and a bus drops a connection that sends more.
    public static let largestMessage = 64 << 20

    /// The limits that a service with one object needs.
    public init() {}
}

extension Duration {
    /// More than anybody waits, and little enough to be added to any time: about 30 years.
    static let longest = Duration.seconds(1_000_000_000)
}

/// A pointer of libdbus on its way into the actor that runs on this very thread; it is used before the callback returns.
struct LibraryPointer: @unchecked Sendable {
    let pointer: OpaquePointer
}
