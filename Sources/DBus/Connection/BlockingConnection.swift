internal import CDBus
internal import Glibc

/// A connection for a program that makes a call and ends. Everything happens on the calling thread.
///
/// The connection starts neither the event loop nor Swift's concurrency runtime, which take most of the time of a short
/// program. A blocking connection cannot export objects.
public final class BlockingConnection {
    /// libdbus's connection; nil once another object has taken it over.
    private var raw: OpaquePointer?
    private let isOnBus: Bool
    /// The largest call.
    private var callBytes = ConnectionLimits().callSize
    /// The name that the bus has given this connection, or the other end of a connection without a bus; nil if it has given none.
    public private(set) var uniqueName: BusName?
    private var serials = Serials()
    /// The destinations of the unfinished calls, by the serials of the calls.
    private var calls: [UInt32: BusName?] = [:]
    private var calledNames = CalledNames()
    /// The names that the bus is asked about, by the serials of the questions.
    private var questions: [UInt32: BusName] = [:]
    /// The errors of the calls whose answers could not be recognised, by the serials of the calls.
    private var failures: [UInt32: CallError] = [:]
    private var answers: [UInt32: Message] = [:]
    /// Takes the signals of ``receive(_:from:_:)``.
    private var signalHandler: ((OpaquePointer) -> Void)?

    /// Connects to a bus and blocks the thread meanwhile.
    ///
    /// - Parameters:
    ///   - address: The bus.
    ///   - timeout: The time limit for the bus's answer to `Hello`. The limit does not cover the time until the kernel
    ///     accepts the connection: if the bus is stopped and its queue of waiting connections is full, the thread stays
    ///     blocked.
    /// - Throws: ``ConnectionError`` with libdbus's message, or ``ConnectionError/timedOut``.
    public convenience init(
        _ address: BusAddress = .session,
        timeout: Duration = .seconds(25)
    ) throws(ConnectionError) {
        try self.init(try connect(to: address.text), isOnBus: true)
        uniqueName = try introduce { () throws(CallError) in
            let name = BusName(try call(BusDriver.hello, on: BusDriver.object, Empty(), timeout: timeout))
            guard let name, name.isUnique else { throw .unexpectedReply(.invalidValue("not a unique name")) }
            return name
        }
    }

    /// Connects to a program that listens without a bus, and waits until both ends have authenticated.
    convenience init(peer address: String, timeout: Duration) throws(ConnectionError) {
        try self.init(try connect(to: address), isOnBus: false)
        // For a program that `unixexec:` started, the kernel reports the credentials of this process, which made both
        // ends of the socket. Such a program belongs to this user anyway.
        if let raw, let peer = Credentials(of: raw), peer.uid != getuid() {
            throw ConnectionError(reason: "the socket belongs to another user")
        }
        try introduce { () throws(CallError) in
            do throws(CallError) {
                try call(PeerInterface.ping, on: RemoteObject(nil, "/"), Empty(), timeout: timeout)
            } catch .remote {
                // Any answer, even an error, proves that the program has accepted this connection.
            }
        }
    }

    /// Connects to a program of this user that listens without a bus and gives this program a name.
    ///
    /// - Parameters:
    ///   - address: The address in D-Bus's notation.
    ///   - hello: The method that returns the name.
    ///   - object: The object that has the method.
    ///   - limits: The limits, of which ``ConnectionLimits/callBytes`` counts.
    ///   - timeout: The time limit of the connection, and that of the call. The other program may have no room for connections:
    ///     the signal `SIGALRM` then ends the wait, so the process has to have no other use for the signal and one thread.
    /// - Throws: ``ConnectionError`` with the reason, or ``ConnectionError/timedOut``.
    package convenience init(
        peer address: String,
        naming hello: Method<Empty, String>,
        on object: RemoteObject,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration
    ) throws(ConnectionError) {
        try self.init(try connect(to: address, within: timeout), isOnBus: false)
        callBytes = limits.callSize
        guard let peer = peerCredentials, peer.uid == getuid() else {
            throw ConnectionError(reason: "the socket belongs to another user")
        }
        uniqueName = try introduce { () throws(CallError) in
            BusName(try call(hello, on: object, Empty(), timeout: timeout))
        }
    }

    /// The credentials of the process at the other end of the socket: the bus, or the program that listens. Nil if there is no
    /// socket. The process is nil if it has gone.
    public var peerCredentials: Credentials? { raw.flatMap { Credentials(of: $0)?.withProcess(of: $0) } }

    /// Whether the other end has not closed the connection, as far as the messages say that have been handled.
    public var isOpen: Bool { raw.map { dbus_connection_get_is_connected($0) != 0 } ?? false }

    private init(_ raw: OpaquePointer, isOnBus: Bool) throws(ConnectionError) {
        self.raw = raw
        self.isOnBus = isOnBus
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_set_route_peer_messages(raw, 1)
        guard dbus_connection_add_filter(raw, takeMessage, pointer, nil) != 0 else { throw .outOfMemory }
    }

    deinit {
        guard let raw else { return }
        dbus_connection_close(raw)
        dbus_connection_unref(raw)
    }

    /// Makes the first call, and turns its failure into a ``ConnectionError``.
    private func introduce<T>(_ body: () throws(CallError) -> T) throws(ConnectionError) -> T {
        do throws(CallError) {
            return try body()
        } catch .timedOut {
            throw .timedOut
        } catch .disconnected {
            throw ConnectionError(reason: "the other end closed the connection")
        } catch {
            throw ConnectionError(reason: error.description)
        }
    }

    /// Gives libdbus's connection to another owner.
    consuming func handOver() -> EstablishedConnection? {
        guard let raw else { return nil }
        dbus_connection_remove_filter(raw, takeMessage, Unmanaged.passUnretained(self).toOpaque())
        self.raw = nil
        return EstablishedConnection(raw: raw, uniqueName: uniqueName, serials: serials)
    }

    /// Calls a method and blocks the thread until the answer arrives.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - object: The object that has the method.
    ///   - input: The arguments.
    ///   - timeout: The time limit. Nil waits until the other end answers or goes away.
    ///   - noticeDelay: The time without an answer after which `notice` is called.
    ///   - notice: A closure that is called at most once, to tell the user that the call takes longer. The closure may
    ///     use this connection.
    /// - Returns: The results of the method.
    @discardableResult
    public func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        timeout: Duration? = .seconds(25),
        noticeAfter noticeDelay: Duration = .zero,
        notice: (() -> Void)? = nil
    ) throws(CallError) -> Output {
        let call = try begin(method, on: object, input)
        return try answer(to: call, timeout: timeout, noticeAfter: noticeDelay, notice: notice)
    }

    /// A call that was sent, and whose answer was not taken yet.
    public struct BegunCall<Output: MessageBody> {
        fileprivate let serial: UInt32
        fileprivate let destination: BusName?
    }

    /// Sends a call and does not wait for its answer. Take the answer with
    /// ``answer(to:timeout:noticeAfter:notice:watching:)``; until then the connection keeps it.
    public func begin<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> BegunCall<Output> {
        let destination = object.destination
        if let destination { try follow(destination) }
        do throws(CallError) {
            let serial = try sendCall(method, on: object, input)
            calls[serial] = .some(destination)
            return BegunCall(serial: serial, destination: destination)
        } catch {
            if let destination { calledNames.endCall(of: destination) }
            throw error
        }
    }

    /// Sends a call without asking for an answer.
    public func send<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) {
        let message = try message(method, on: object, input)
        dbus_message_set_no_reply(message.pointer, 1)
        _ = try send(message)
    }

    /// Calls `handler` for each signal of a kind that an object sends to this connection, while a call waits for its answer.
    ///
    /// The destination of the object is a name that this connection is calling; a signal of another connection is left out, and
    /// so is a signal whose values have other types. A later handler takes the place of an earlier one.
    public func receive<Body: MessageBody>(
        _ signal: Signal<Body>,
        from object: RemoteObject,
        _ handler: @escaping (Body) -> Void
    ) {
        let limit = ConnectionLimits().bodyBytes
        signalHandler = { [unowned self] message in
            guard dbus_message_is_signal(message, signal.interface.rawValue, signal.name.rawValue) != 0,
                dbus_message_has_path(message, object.path.rawValue) != 0,
                !isOnBus || calledNames.isAnswer(message, to: object.destination)
            else { return }
            do throws(MessageDecodingError) {
                handler(try Message.body(message, limit: limit))
            } catch {
                // The message is a signal that only has the same name.
            }
        }
    }

    /// Blocks the thread until the answer to a call arrives, and takes the answer. An answer can be taken once.
    ///
    /// The parameters are those of ``call(_:on:_:timeout:noticeAfter:notice:)``, and:
    ///
    /// - Parameter watches: Descriptors, and closures that are called each time the descriptor is readable. A closure reads from the
    ///   descriptor, and may send with this connection.
    public func answer<Output: MessageBody>(
        to call: BegunCall<Output>,
        timeout: Duration? = .seconds(25),
        noticeAfter noticeDelay: Duration = .zero,
        notice: (() -> Void)? = nil,
        watching watches: [DescriptorToWatch] = []
    ) throws(CallError) -> Output {
        let start = ContinuousClock.now
        let serial = call.serial
        defer {
            if let destination = call.destination { calledNames.endCall(of: destination) }
            calls[serial] = nil
            answers[serial] = nil
            failures[serial] = nil
        }
        if let notice {
            if try !wait(for: serial, until: start + min(noticeDelay, timeout ?? .longest, .longest), watches) {
                notice()
            }
        }
        guard try wait(for: serial, until: timeout.map { start + min($0, .longest) }, watches),
            let answer = answers[serial]
        else {
            throw .timedOut
        }
        return try answer.result().get()
    }

    /// Blocks the thread until a condition holds, and calls the handler of ``receive(_:from:_:)`` meanwhile.
    ///
    /// - Parameters:
    ///   - name: The name that the signals come from.
    ///   - timeout: The time limit.
    ///   - watches: As for ``answer(to:timeout:noticeAfter:notice:watching:)``. The closure is asked again before each wait.
    ///   - isDone: The condition, which the closures of the descriptors and the handler of the signal may make true.
    /// - Returns: Whether the condition holds; false at the time limit.
    /// - Throws: The error `NoReply` if the owner of the name has gone, and ``CallError/disconnected``.
    public func wait(
        forSignalsOf name: BusName,
        timeout: Duration,
        watching watches: () -> [DescriptorToWatch],
        until isDone: () -> Bool
    ) throws(CallError) -> Bool {
        let deadline = ContinuousClock.now + min(timeout, .longest)
        try follow(name)
        defer { calledNames.endCall(of: name) }
        let owner = calledNames.owner(of: name)
        while !isDone() {
            if let owner, calledNames.owner(of: name) != owner {
                throw .remote(RemoteError(.noReply, "the program that has the name \(name) has ended"))
            }
            guard try dispatch(until: deadline, watches()) else { return isDone() }
        }
        return true
    }

    /// Asks the bus for the owner of a name and its changes from now on, for ``hasOwner(_:)``. The call does not wait for the answer,
    /// and starts no program.
    public func followOwner(of name: BusName) throws(CallError) { try follow(name) }

    /// Whether a name that this connection has called or follows has an owner, as far as the messages say that have been handled.
    public func hasOwner(_ name: BusName) -> Bool { calledNames.owner(of: name) != nil }

    /// Counts a call of a name. Before the first call, this method asks the bus for the name's owner and its changes.
    private func follow(_ name: BusName) throws(CallError) {
        guard isOnBus, name.changesOwner, calledNames.beginCall(of: name) else { return }
        questions[try sendCall(BusDriver.addMatch, on: BusDriver.object, BusDriver.ownerRule(name))] = name
        questions[try sendCall(BusDriver.getNameOwner, on: BusDriver.object, name.rawValue)] = name
    }

    /// Sends a call.
    ///
    /// - Returns: The serial of the call.
    private func sendCall<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> UInt32 {
        try send(try message(method, on: object, input))
    }

    private func message<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> Message {
        let message: Message
        do throws(MessageEncodingError) {
            message = try Message(
                .methodCall(
                    method.interface,
                    method.name,
                    on: object,
                    input,
                    limit: callBytes
                )
            )
        } catch {
            throw .notSent(error)
        }
        guard let raw, dbus_connection_get_is_connected(raw) != 0 else { throw .disconnected }
        if dbus_message_contains_unix_fds(message.pointer) != 0,
            dbus_connection_can_send_type(raw, TypeCode.unixFD) == 0
        {
            throw .notSent(.descriptorNotPassed)
        }
        return message
    }

    private func send(_ message: Message) throws(CallError) -> UInt32 {
        let serial = serials.next()
        dbus_message_set_serial(message.pointer, serial)
        guard dbus_connection_send(raw, message.pointer, nil) != 0 else { throw .notSent(.outOfMemory) }
        return serial
    }

    /// Waits for the answer to a call.
    ///
    /// - Returns: Whether the answer arrived before the deadline.
    private func wait(
        for serial: UInt32,
        until deadline: ContinuousClock.Instant?,
        _ watches: [DescriptorToWatch]
    ) throws(CallError) -> Bool {
        while answers[serial] == nil {
            if let failure = failures[serial] { throw failure }
            do throws(CallError) {
                guard try dispatch(until: deadline, watches) else { return false }
            } catch {
                if answers[serial] == nil { throw error }
            }
        }
        return true
    }

    /// Waits for a message or for a readable descriptor, and handles what has come.
    ///
    /// - Returns: False at the deadline.
    private func dispatch(
        until deadline: ContinuousClock.Instant?,
        _ watches: [DescriptorToWatch]
    ) throws(CallError) -> Bool {
        var milliseconds: CInt = -1
        if let deadline {
            let left = ContinuousClock.now.duration(to: deadline)
            if left <= .zero { return false }
            milliseconds = CInt(
                clamping: left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            )
        }
        if !watches.isEmpty {
            waitForInput(milliseconds, watches)
            milliseconds = 0
        }
        if dbus_connection_read_write_dispatch(raw, milliseconds) == 0 { throw .disconnected }
        return true
    }

    /// A descriptor, and the closure that is called each time the descriptor is readable.
    public typealias DescriptorToWatch = (descriptor: CInt, isReadable: () -> Void)

    /// Waits until libdbus has something to do, or until a descriptor is readable.
    private func waitForInput(_ milliseconds: CInt, _ watches: [DescriptorToWatch]) {
        guard let raw, dbus_connection_get_dispatch_status(raw) != DBUS_DISPATCH_DATA_REMAINS else { return }
        var socket: CInt = -1
        guard dbus_connection_get_unix_fd(raw, &socket) != 0 else { return }
        let events = dbus_connection_has_messages_to_send(raw) != 0 ? POLLIN | POLLOUT : POLLIN
        var descriptors = watches.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        descriptors.append(pollfd(fd: socket, events: Int16(events), revents: 0))
        guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
        for (watch, state) in zip(watches, descriptors) where state.revents != 0 { watch.isReadable() }
    }

    /// Handles a message that has arrived.
    ///
    /// - Returns: Whether the message needs no further handling by libdbus.
    fileprivate func take(_ message: OpaquePointer) -> Bool {
        switch dbus_message_get_type(message) {
        case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR: return takeAnswer(message)
        case DBUS_MESSAGE_TYPE_METHOD_CALL:
            refuse(message)
            return true
        case DBUS_MESSAGE_TYPE_SIGNAL:
            signalHandler?(message)
            if let change = BusDriver.ownerChange(message) { calledNames.setOwner(of: change.name, change.new) }
            return false
        default: return false
        }
    }

    /// Stores a message that answers one of the calls.
    ///
    /// - Returns: Whether the message is such an answer.
    private func takeAnswer(_ message: OpaquePointer) -> Bool {
        let serial = dbus_message_get_reply_serial(message)
        if let name = questions[serial], calledNames.isAnswer(message, to: .bus) {
            questions[serial] = nil
            learn(of: name, from: message)
            return true
        }
        guard let destination = calls[serial], answers[serial] == nil,
            !isOnBus || calledNames.isAnswer(message, to: destination)
        else { return false }
        answers[serial] = Message(owning: dbus_message_ref(message))
        return true
    }

    /// Handles the bus's answer to `AddMatch`, which is empty, or to `GetNameOwner`.
    private func learn(of name: BusName, from answer: OpaquePointer) {
        let owner: Result<String, CallError> = Message.result(answer)
        switch owner {
        case .success(let owner): calledNames.setOwner(of: name, BusName(owner))
        case .failure(.unexpectedReply): break
        // The bus reports the owner that it starts.
        case .failure(.remote(let error)) where error.name == .nameHasNoOwner: break
        case .failure(let error):
            calledNames.remove(name)
            for (serial, destination) in calls where destination == name { failures[serial] = error }
        }
    }

    /// Answers a call of another program, which can only be one of ``PeerInterface``.
    private func refuse(_ call: OpaquePointer) {
        let sender = dbus_message_get_sender(call).map { BusName(trusted: String(cString: $0)) }
        let address = ReplyAddress(ofCall: call, from: sender)
        guard address.isExpected else { return }
        do {
            let limit = ConnectionLimits().messageBytes
            let error = RemoteError(.unknownObject, "this program has no objects")
            let answer = try PeerInterface.Call(call)?.answer(at: address, limit: limit)
            _ = try send(try Message(try answer ?? .error(to: address, error, limit: limit)))
        } catch {
            // There is no memory for an answer. The caller's own time limit ends the call.
        }
    }
}

private let takeMessage: DBusHandleMessageFunction = { _, message, data in
    guard let message, let data else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
    let connection = Unmanaged<BlockingConnection>.fromOpaque(data).takeUnretainedValue()
    return connection.take(message) ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED
}
