internal import CDBus
internal import Glibc
public import Reactor

/// A connection to a message bus: calls others, and exports objects that others call.
///
/// All of libdbus runs on the event loop's thread, which is the actor's executor: no lock, no hop between a message and
/// what it leads to, and one order of events, that of arrival. Another actor on the same loop calls this one without
/// changing threads.
///
/// A connection lives until ``close()`` or until the bus goes away, whether or not somebody holds it; after that every
/// call fails with ``CallError/disconnected``. It does not connect again by itself, as its unique name, its well-known
/// names and what it watched are gone with the bus.
public actor Connection {
    /// The event loop that carries the connection.
    public nonisolated let loop: EventLoop
    /// The name that the bus gave this connection; nil without a bus.
    public nonisolated let uniqueName: BusName?
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let limits: ConnectionLimits
    private let raw: OpaquePointer
    private var state = State.open
    private var watches: [OpaquePointer: DescriptorWatch] = [:]
    private var dispatchIsScheduled = false
    private var disconnectWaiters: [CheckedContinuation<Void, Never>] = []

    private var lastSerial: UInt32 = 1024
    private var pendingCalls: [UInt32: PendingCall] = [:]

    private var objects = ObjectTree()
    private var callsInFlight = CallCounter()

    var nameWatches: [BusName: NameWatchers] = [:]

    private enum State {
        case open
        /// The other end is gone or ``close()`` was called; libdbus's object is still there.
        case disconnected
        case released
    }

    private struct PendingCall {
        let timer: TimerID?
        /// Takes the answer, or the reason why there is none. Whoever removes the entry calls it, exactly once.
        let complete: (Result<LibraryPointer, CallError>) -> Void
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
            let connection = Connection(raw: try address.connect(), on: loop, limits: limits)
            connection.assumeIsolated { $0.attach() }
            return connection
        }
    }

    private init(raw: OpaquePointer, on loop: EventLoop, limits: ConnectionLimits) {
        self.raw = raw
        self.loop = loop
        self.limits = limits
        uniqueName = dbus_bus_get_unique_name(raw).map { BusName(trusted: String(cString: $0)) }
    }

    /// Ends the connection: what was sent is written, every call in flight fails, names are given back.
    public func close() {
        guard state == .open else { return }
        dbus_connection_flush(raw)
        disconnect()
    }

    /// Returns when the connection has ended, by ``close()`` or because the bus went away.
    public func waitUntilClosed() async {
        guard state == .open else { return }
        await withCheckedContinuation { disconnectWaiters.append($0) }
    }

    private func disconnect() {
        guard state == .open else { return }
        state = .disconnected
        for call in pendingCalls.values {
            if let timer = call.timer { loop.cancelTimer(timer) }
            call.complete(.failure(.disconnected))
        }
        pendingCalls = [:]
        nameWatches = [:]
        for waiter in disconnectWaiters { waiter.resume() }
        disconnectWaiters = []
        // libdbus may be in the middle of a callback now, so its object goes in a turn of its own.
        loop.execute { self.assumeIsolated { $0.release() } }
    }

    private func release() {
        guard state == .disconnected else { return }
        state = .released
        dbus_connection_set_watch_functions(raw, nil, nil, nil, nil, nil)
        dbus_connection_set_dispatch_status_function(raw, nil, nil, nil)
        for watch in watches.values { watch.cancel() }
        watches = [:]
        dbus_connection_close(raw)
        while dbus_connection_dispatch(raw) == DBUS_DISPATCH_DATA_REMAINS {}
        dbus_connection_remove_filter(raw, receiveMessage, Unmanaged.passUnretained(self).toOpaque())
        dbus_connection_unref(raw)
        // The reference that attach() took for libdbus.
        Unmanaged.passUnretained(self).release()
    }

    // MARK: The event loop

    private func attach() {
        let pointer = Unmanaged.passRetained(self).toOpaque()
        dbus_connection_set_max_received_size(raw, limits.receivedBytes)
        // On failure libdbus leaves all of it unset, and only for lack of memory.
        let isAttached =
            dbus_connection_add_filter(raw, receiveMessage, pointer, nil) != 0
            && dbus_connection_set_watch_functions(raw, addWatch, removeWatch, toggleWatch, pointer, nil) != 0
        guard isAttached else {
            disconnect()
            return
        }
        dbus_connection_set_dispatch_status_function(raw, dispatchStatusChanged, pointer, nil)
        if dbus_connection_get_dispatch_status(raw) == DBUS_DISPATCH_DATA_REMAINS { scheduleDispatch() }
    }

    fileprivate func add(_ watch: OpaquePointer) -> Bool {
        let flags = dbus_watch_get_flags(watch)
        var events: DescriptorEvents = []
        if flags & DBUS_WATCH_READABLE.rawValue != 0 { events.insert(.readable) }
        if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events.insert(.writable) }
        let unchecked = LibraryPointer(pointer: watch)
        let descriptor = loop.watch(dbus_watch_get_unix_fd(watch), for: events) { [unowned self] ready in
            assumeIsolated { $0.handle(unchecked, ready) }
        }
        descriptor.isEnabled = dbus_watch_get_enabled(watch) != 0
        watches[watch] = descriptor
        return true
    }

    fileprivate func remove(_ watch: OpaquePointer) {
        watches.removeValue(forKey: watch)?.cancel()
    }

    fileprivate func toggle(_ watch: OpaquePointer) {
        watches[watch]?.isEnabled = dbus_watch_get_enabled(watch) != 0
    }

    private func handle(_ watch: LibraryPointer, _ ready: DescriptorEvents) {
        var flags: UInt32 = 0
        if ready.contains(.readable) { flags |= DBUS_WATCH_READABLE.rawValue }
        if ready.contains(.writable) { flags |= DBUS_WATCH_WRITABLE.rawValue }
        if ready.contains(.hangup) { flags |= DBUS_WATCH_HANGUP.rawValue }
        if ready.contains(.error) { flags |= DBUS_WATCH_ERROR.rawValue }
        dbus_watch_handle(watch.pointer, flags)
        dispatch()
    }

    /// How many messages are taken before the loop's other work gets its turn.
    private static let messagesPerTurn = 64

    private func dispatch() {
        guard state != .released else { return }
        for _ in 0..<Self.messagesPerTurn {
            switch dbus_connection_dispatch(raw) {
            case DBUS_DISPATCH_DATA_REMAINS: continue
            case DBUS_DISPATCH_NEED_MEMORY:
                loop.schedule(at: .now + .milliseconds(10)) { self.assumeIsolated { $0.dispatch() } }
                return
            default: return
            }
        }
        scheduleDispatch()
    }

    fileprivate func scheduleDispatch() {
        guard !dispatchIsScheduled else { return }
        dispatchIsScheduled = true
        loop.execute {
            self.assumeIsolated { connection in
                connection.dispatchIsScheduled = false
                connection.dispatch()
            }
        }
    }

    // MARK: Sending

    /// Sends a message under a serial of our own, so that a call's entry can be made before it is sent.
    @discardableResult
    private func send(_ message: Message) -> UInt32? {
        guard state == .open, dbus_connection_get_is_connected(raw) != 0 else { return nil }
        lastSerial = lastSerial == .max ? 1024 : lastSerial + 1
        dbus_message_set_serial(message.pointer, lastSerial)
        return dbus_connection_send(raw, message.pointer, nil) != 0 ? lastSerial : nil
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
        if Task.isCancelled { throw .cancelled }
        let message = try prepared { () throws(EncodingError) in
            try Message.methodCall(method.interface, method.name, on: object, input)
        }
        guard let serial = send(message) else { throw .disconnected }
        // Nothing is read before this job ends, so the answer cannot overtake its entry.
        let result: Result<Output, CallError> = await withTaskCancellationHandler {
            await answer(to: serial, timeout)
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.fail(serial, .cancelled) } }
        }
        return try result.get()
    }

    /// Waits for the answer to a call that was sent.
    ///
    /// A method and not a part of the closure above, which would wait outside the actor: the answer would then come back
    /// by way of another thread, and overtake others.
    private func answer<Output: MessageBody>(
        to serial: UInt32,
        _ timeout: Duration?
    ) async -> Result<Output, CallError> {
        await withCheckedContinuation { continuation in
            let timer = timeout.map { timeout in
                loop.schedule(at: .now + timeout) { self.assumeIsolated { $0.fail(serial, .timedOut) } }
            }
            pendingCalls[serial] = PendingCall(timer: timer) { reply in
                continuation.resume(returning: reply.flatMap { Message.result($0.pointer) })
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
        let message = try prepared { () throws(EncodingError) in
            try Message.methodCall(method.interface, method.name, on: object, input)
        }
        dbus_message_set_no_reply(message.pointer, 1)
        guard send(message) != nil else { throw .disconnected }
    }

    private func prepared(_ make: () throws(EncodingError) -> Message) throws(CallError) -> Message {
        do throws(EncodingError) {
            return try make()
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
        let message = try prepared { () throws(EncodingError) in
            try Message.signal(signal.interface, signal.name, from: path, body)
        }
        guard send(message) != nil else { throw .disconnected }
    }

    private func fail(_ serial: UInt32, _ error: CallError) {
        guard let call = pendingCalls.removeValue(forKey: serial) else { return }
        if let timer = call.timer { loop.cancelTimer(timer) }
        call.complete(.failure(error))
    }

    // MARK: Receiving

    fileprivate func receive(_ message: LibraryPointer) -> DBusHandlerResult {
        let pointer = message.pointer
        switch dbus_message_get_type(pointer) {
        case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR:
            guard let call = pendingCalls.removeValue(forKey: dbus_message_get_reply_serial(pointer)) else {
                return DBUS_HANDLER_RESULT_NOT_YET_HANDLED
            }
            if let timer = call.timer { loop.cancelTimer(timer) }
            call.complete(.success(message))
            return DBUS_HANDLER_RESULT_HANDLED
        case DBUS_MESSAGE_TYPE_METHOD_CALL:
            receiveCall(pointer)
            return DBUS_HANDLER_RESULT_HANDLED
        case DBUS_MESSAGE_TYPE_SIGNAL:
            if dbus_message_is_signal(pointer, DBUS_INTERFACE_LOCAL, "Disconnected") != 0 {
                disconnect()
            } else if dbus_message_is_signal(pointer, DBUS_INTERFACE_DBUS, "NameOwnerChanged") != 0 {
                receiveNameOwnerChanged(pointer)
            }
            return DBUS_HANDLER_RESULT_HANDLED
        default:
            return DBUS_HANDLER_RESULT_NOT_YET_HANDLED
        }
    }

    private func receiveNameOwnerChanged(_ pointer: OpaquePointer) {
        guard let sender = dbus_message_get_sender(pointer), strcmp(sender, DBUS_SERVICE_DBUS) == 0 else { return }
        do throws(DecodingError) {
            let change: Arguments<String, String, String> = try Message.body(pointer, limit: .max)
            nameOwnerChanged(change.values.0, change.values.1, change.values.2)
        } catch {
            // The bus alone can have sent it, and the bus sends nothing else under that name.
        }
    }

    private func receiveCall(_ pointer: OpaquePointer) {
        let sender = dbus_message_get_sender(pointer).map { BusName(trusted: String(cString: $0)) }
        let address = ReplyAddress(
            sender: sender,
            serial: dbus_message_get_serial(pointer),
            isExpected: dbus_message_get_no_reply(pointer) == 0
        )
        guard let path = dbus_message_get_path(pointer), let member = dbus_message_get_member(pointer) else { return }
        let call = IncomingCall(sender: sender, path: ObjectPath(trusted: String(cString: path)))
        let interface = dbus_message_get_interface(pointer).map { InterfaceName(trusted: String(cString: $0)) }
        let found = objects.method(call.path, interface, MemberName(trusted: String(cString: member)))

        do {
            let method = try found.get()
            guard dbus_message_has_signature(pointer, method.inputSignature.rawValue) != 0 else {
                let signature = dbus_message_get_signature(pointer).map { String(cString: $0) } ?? ""
                throw DecodingError.wrongType(expected: method.inputSignature, found: signature)
            }
            var reader = MessageReader(message: pointer, limit: limits.bodyBytes)
            let body = try method.begin(&reader)
            guard callsInFlight.begin(sender, limits) else {
                throw RemoteError(.limitsExceeded, "too many calls are waiting for an answer")
            }
            // The task prefers the loop, so that what waits in it goes on in the order in which it was waited for.
            Task(executorPreference: loop) { await self.run(body, call, address) }
        } catch {
            answer(address, with: error)
        }
    }

    private func run(
        _ body: @Sendable (IncomingCall) async throws -> BodyWriter,
        _ call: IncomingCall,
        _ address: ReplyAddress
    ) async {
        defer { callsInFlight.end(address.sender) }
        do {
            let write = try await body(call)
            if address.isExpected { send(try Message.reply(to: address, write)) }
        } catch {
            answer(address, with: error)
        }
    }

    private func answer(_ address: ReplyAddress, with error: any Error) {
        guard address.isExpected else { return }
        let answer: RemoteError =
            switch error {
            case let error as any DBusErrorConvertible: error.dbusError
            case DecodingError.tooLarge(let limit):
                RemoteError(.limitsExceeded, "the arguments hold more than \(limit) bytes")
            case let error as DecodingError: RemoteError(.invalidArguments, "wrong arguments: \(error)")
            default: RemoteError(.failed, String(describing: error))
            }
        do throws(EncodingError) {
            send(try Message.error(to: address, answer.name, answer.message))
        } catch {
            // There is no memory for an answer; the caller's own time limit tells it.
        }
    }

    // MARK: Exporting

    /// Makes an object with these interfaces callable, at once; `Introspectable`, `Properties` and `Peer` come with it.
    ///
    /// More interfaces can be added to an object later.
    public func export(_ interfaces: [ExportedInterface], at path: ObjectPath) {
        objects.add(interfaces, at: path)
    }
}

/// How much a connection takes from others.
public struct ConnectionLimits: Sendable, Hashable {
    /// Calls of one sender that wait for their answer; one more is answered with `LimitsExceeded`.
    public var callsPerSender = 8192
    /// Calls of all senders together.
    public var calls = 65_536
    /// Bytes of values in one call's arguments.
    public var bodyBytes = 1 << 20
    /// Bytes of messages that have arrived and are not read yet; above it the socket is left alone.
    public var receivedBytes = 16 << 20

    /// The limits that a service with one object needs.
    public init() {}
}

/// Counts the calls in flight, for the limits.
private struct CallCounter {
    private var total = 0
    private var bySender: [BusName?: Int] = [:]

    mutating func begin(_ sender: BusName?, _ limits: ConnectionLimits) -> Bool {
        let count = bySender[sender, default: 0]
        guard total < limits.calls, count < limits.callsPerSender else { return false }
        total += 1
        bySender[sender] = count + 1
        return true
    }

    mutating func end(_ sender: BusName?) {
        total -= 1
        guard let count = bySender[sender] else { return }
        bySender[sender] = count > 1 ? count - 1 : nil
    }
}

/// A pointer of libdbus on its way into the actor that runs on this very thread; it is used before the callback returns.
struct LibraryPointer: @unchecked Sendable {
    let pointer: OpaquePointer
}

// MARK: libdbus's callbacks, all on the loop's thread

private func connection(_ data: UnsafeMutableRawPointer?) -> Connection? {
    data.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}

private let receiveMessage: DBusHandleMessageFunction = { _, message, data in
    guard let message, let connection = connection(data) else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
    let unchecked = LibraryPointer(pointer: message)
    return connection.assumeIsolated { $0.receive(unchecked) }
}

private let addWatch: DBusAddWatchFunction = { watch, data in
    guard let watch, let connection = connection(data) else { return 0 }
    let unchecked = LibraryPointer(pointer: watch)
    return connection.assumeIsolated { $0.add(unchecked.pointer) } ? 1 : 0
}

private let removeWatch: DBusRemoveWatchFunction = { watch, data in
    guard let watch, let connection = connection(data) else { return }
    let unchecked = LibraryPointer(pointer: watch)
    connection.assumeIsolated { $0.remove(unchecked.pointer) }
}

private let toggleWatch: DBusWatchToggledFunction = { watch, data in
    guard let watch, let connection = connection(data) else { return }
    let unchecked = LibraryPointer(pointer: watch)
    connection.assumeIsolated { $0.toggle(unchecked.pointer) }
}

private let dispatchStatusChanged: DBusDispatchStatusFunction = { _, status, data in
    guard status == DBUS_DISPATCH_DATA_REMAINS, let connection = connection(data) else { return }
    connection.assumeIsolated { $0.scheduleDispatch() }
}
