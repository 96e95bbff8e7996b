internal import CLinux
internal import Glibc

/// A connection for a program that makes a call and exits. Everything happens on the calling thread.
///
/// It starts neither the event loop nor Swift's concurrency runtime, which account for most of a short program's run
/// time. It cannot export objects.
public final class BlockingConnection {
    /// The socket; nil once another object has taken it over.
    private var socket: CInt?
    private var passesDescriptors: Bool
    private var input: InputBuffer
    /// The authentication, until the bus has accepted this program, which happens before the first message; nil after
    /// that.
    private var authentication: AuthenticationRequest?
    private var output = OutputBuffer()
    /// Whether the connection is open, judging by the messages handled so far.
    public private(set) var isOpen = true
    private let isOnBus: Bool
    /// The maximum size of a call.
    private var callBytes = ConnectionLimits().callSize
    /// This connection's name, given by the bus or by the other end of a connection without a bus; nil if there is
    /// none.
    public private(set) var uniqueName: BusName?
    private var serials = Serials()
    /// The latest message that was left out because its descriptors could not be passed.
    private var droppedSerial: UInt32?
    private var calls: [UnfinishedCall] = []
    private var calledNames = CalledNames()
    /// The names whose owners the bus was asked for, by the question's serial.
    private var questions: [UInt32: BusName] = [:]
    /// Handlers of ``receive(_:from:_:)``, one for each signal, by the signal's name.
    private var signalHandlers: [MemberName: (Message) -> Void] = [:]

    /// Connects to a bus, and blocks the thread until the connection is ready.
    ///
    /// - Parameters:
    ///   - address: The bus.
    ///   - timeout: The time limit for the authentication and the bus's answer to `Hello`. It does not cover the time
    ///     until the kernel accepts the connection: if the bus is stopped and its queue of waiting connections is
    ///     full, the thread stays blocked.
    /// - Throws: ``ConnectionError`` with libdbus's message, or ``ConnectionError/timedOut``.
    public convenience init(
        _ address: BusAddress = .session,
        timeout: Duration = .seconds(25)
    ) throws(ConnectionError) {
        let deadline = ContinuousClock.now + min(timeout, .longest)
        self.init(
            try authenticated(try connect(to: address.text), deadline),
            isOnBus: true,
            ConnectionLimits.largestBusMessage
        )
        uniqueName = try introduce { () throws(CallError) in
            let name = BusName(
                try call(
                    BusDriver.hello,
                    on: BusDriver.object,
                    Empty(),
                    timeout: ContinuousClock.now.duration(to: deadline)
                )
            )
            guard let name, name.isUnique else { throw .unexpectedReply(.invalidValue("not a unique name")) }
            return name
        }
    }

    /// Connects to a program that listens without a bus, and waits until both ends have authenticated.
    convenience init(
        peer address: String,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration
    ) throws(ConnectionError) {
        let deadline = ContinuousClock.now + min(timeout, .longest)
        self.init(try authenticated(try connect(to: address), deadline), isOnBus: false, limits.messageBytes)
        // If `unixexec:` started the program, the kernel reports the credentials of this process, which made both ends
        // of the socket. Such a program belongs to this user anyway.
        if let peer = peerCredentials, peer.uid != getuid() {
            throw ConnectionError(reason: "the socket belongs to another user")
        }
        try introduce { () throws(CallError) in
            do throws(CallError) {
                try call(
                    PeerInterface.ping,
                    on: RemoteObject(nil, "/"),
                    Empty(),
                    timeout: ContinuousClock.now.duration(to: deadline)
                )
            } catch .remote {
                // Any answer, even an error, proves that the other end has accepted this connection.
            }
        }
    }

    /// Connects to one of this user's programs that listens without a bus and gives this program a name.
    ///
    /// The authentication and the first call go out together, so the thread waits for the other program only once.
    ///
    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - hello: The method that returns the name.
    ///   - object: The object that has the method.
    ///   - limits: The limits. Of these, only ``ConnectionLimits/messageBytes`` and ``ConnectionLimits/callBytes`` are
    ///     used.
    ///   - timeout: The time limit for the other program to make room for the connection and to answer the first call.
    /// - Throws: ``ConnectionError`` with the reason, or ``ConnectionError/timedOut``.
    package convenience init(
        socket path: String,
        naming hello: Method<Empty, String>,
        on object: RemoteObject,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration
    ) throws(ConnectionError) {
        let deadline = ContinuousClock.now + min(timeout, .longest)
        self.init(unauthenticated: try connectedSocket(path, within: timeout), limits.messageBytes)
        callBytes = limits.callSize
        guard let peer = peerCredentials, peer.uid == getuid() else {
            throw ConnectionError(reason: "the socket belongs to another user")
        }
        output.append(AuthenticationRequest.lines)
        uniqueName = try introduce { () throws(CallError) in
            BusName(try call(hello, on: object, Empty(), timeout: ContinuousClock.now.duration(to: deadline)))
        }
    }

    /// The credentials of the process at the other end of the socket, which is the bus or the program that listens; nil
    /// if there is no socket. If the process has exited, they name no process.
    public var peerCredentials: Credentials? { socket.flatMap { Credentials(of: $0)?.withProcess(of: $0) } }

    private init(_ authenticated: AuthenticatedSocket, isOnBus: Bool, _ limit: Int) {
        socket = authenticated.socket
        passesDescriptors = authenticated.passesDescriptors
        input = InputBuffer(
            limit: limit,
            descriptors: passesDescriptors ? InputBuffer.descriptorsAtOnce : 0,
            isOnBus: isOnBus
        )
        self.isOnBus = isOnBus
    }

    private init(unauthenticated socket: CInt, _ limit: Int) {
        self.socket = socket
        passesDescriptors = false
        input = InputBuffer(linesBefore: limit)
        authentication = AuthenticationRequest()
        isOnBus = false
    }

    deinit {
        if let socket { close(socket) }
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

    /// Hands the socket over to another owner.
    consuming func handOver() throws(ConnectionError) -> EstablishedConnection? {
        guard output.isEmpty else { throw ConnectionError(reason: "the other end does not read") }
        guard let socket = socket.take() else { return nil }
        var taken = InputBuffer(limit: 0, descriptors: 0)
        swap(&taken, &input)
        return EstablishedConnection(
            socket,
            passesDescriptors: passesDescriptors,
            uniqueName: isOnBus ? uniqueName : nil,
            givenName: isOnBus ? nil : uniqueName,
            serials,
            taken
        )
    }

    /// Calls a method and blocks the thread until the answer arrives.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - object: The object that has the method.
    ///   - input: The arguments.
    ///   - timeout: The time limit. Nil waits until the other end answers or goes away.
    ///   - noticeDelay: The time to wait for an answer before calling `notice`.
    ///   - notice: Called at most once, to let the user know that the call is taking a while. It may use this
    ///     connection.
    /// - Returns: The method's results.
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

    /// A call that was sent and whose answer has not been taken yet.
    public struct BegunCall<Output: MessageBody> {
        fileprivate let serial: UInt32
        fileprivate let destination: BusName?
    }

    /// Sends a call without waiting for its answer. Take the answer with
    /// ``answer(to:timeout:noticeAfter:notice:watching:)``; until then, the connection keeps the answer.
    public func begin<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> BegunCall<Output> {
        let destination = object.destination
        if let destination { try follow(destination) }
        do throws(CallError) {
            let serial = try sendCall(method, on: object, input)
            calls.append(UnfinishedCall(serial: serial, destination: destination))
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
        var message = try message(method, on: object, input)
        message.expectNoAnswer()
        _ = try send(message)
    }

    /// While a call waits for its answer, calls `handler` for each signal of the given kind that the object sends to
    /// this connection.
    ///
    /// Only signals from the name that this connection is calling are handled, and only those with values of the right
    /// types. If you set another handler for a signal of the same name, it replaces the first.
    public func receive<Body: MessageBody>(
        _ signal: Signal<Body>,
        from object: RemoteObject,
        _ handler: @escaping (Body) -> Void
    ) {
        let limit = ConnectionLimits().bodyBytes
        signalHandlers[signal.name] = { [unowned self] message in
            guard message.isSignal(signal), message.path == object.path,
                !isOnBus || calledNames.isAnswer(message, to: object.destination)
            else { return }
            do throws(MessageDecodingError) {
                handler(try message.contents(limit: limit))
            } catch {
                // It is another signal that happens to have the same name.
            }
        }
    }

    /// Blocks the thread until the answer to a call arrives, and takes it. An answer can be taken once.
    ///
    /// The parameters are those of ``call(_:on:_:timeout:noticeAfter:notice:)``, plus one more:
    ///
    /// - Parameter watches: Descriptors, each with a closure that is called whenever the descriptor is readable. The
    ///   closure reads from the descriptor, and may send over this connection.
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
            calls.removeAll { $0.serial == serial }
        }
        if let notice {
            if try !wait(for: serial, until: start + min(noticeDelay, timeout ?? .longest, .longest), watches) {
                notice()
            }
        }
        guard try wait(for: serial, until: timeout.map { start + min($0, .longest) }, watches),
            let answer = unfinishedCall(serial)?.answer
        else {
            throw .timedOut
        }
        return try answer.outcome()
    }

    /// Blocks the thread until the condition holds. Meanwhile, signals go to the handlers set with
    /// ``receive(_:from:_:)``.
    ///
    /// - Parameters:
    ///   - name: The name that the signals come from.
    ///   - timeout: The time limit.
    ///   - watches: As for ``answer(to:timeout:noticeAfter:notice:watching:)``. This closure is called again before
    ///     each wait.
    ///   - isDone: The condition. The watches' closures and the signal's handler may make it true.
    /// - Returns: Whether the condition holds; false at the time limit.
    /// - Throws: The error `NoReply` if the name's owner has exited, or ``CallError/disconnected``.
    public func wait(
        forSignalsOf name: BusName,
        timeout: Duration,
        watching watches: () -> [DescriptorToWatch],
        until isDone: () -> Bool
    ) throws(CallError) -> Bool {
        let deadline = ContinuousClock.now + min(timeout, .longest)
        try follow(name)
        defer { calledNames.endCall(of: name) }
        var owner: BusName?
        while !isDone() {
            // The bus may not have named the owner yet when this begins.
            let current = calledNames.owner(of: name)
            if let owner, current != owner {
                throw .remote(RemoteError(.noReply, "the program that has the name \(name) has ended"))
            }
            owner = current
            guard try dispatch(until: deadline, watches()) else { return isDone() }
        }
        return true
    }

    /// Follows the owner of a name from now on, for ``hasOwner(_:)``. This asks the bus without waiting for the answer,
    /// and starts no program.
    public func followOwner(of name: BusName) throws(CallError) { try follow(name) }

    /// Whether a name that this connection has called or follows has an owner, judging by the messages handled so far.
    public func hasOwner(_ name: BusName) -> Bool { calledNames.owner(of: name) != nil }

    /// Records a call to a name. If the call is the first, asks the bus for the name's owner and for changes of owner.
    private func follow(_ name: BusName) throws(CallError) {
        guard isOnBus, name.changesOwner, calledNames.beginCall(of: name) else { return }
        questions[try sendCall(BusDriver.addMatch, on: BusDriver.object, BusDriver.ownerRule(name))] = name
        questions[try sendCall(BusDriver.getNameOwner, on: BusDriver.object, name.rawValue)] = name
    }

    /// Sends a call.
    ///
    /// - Returns: The call's serial.
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
    ) throws(CallError) -> WrittenMessage {
        let message = try WrittenMessage.call(method, on: object, input, limit: callBytes)
        guard isOpen else { throw .disconnected }
        if !message.descriptors.isEmpty, !passesDescriptors { throw .notSent(.descriptorNotPassed) }
        return message
    }

    /// Writes as much of a message as the socket takes. The rest follows while the connection waits for messages.
    private func send(_ message: WrittenMessage) throws(CallError) -> UInt32 {
        let serial = serials.next()
        output.append(message, as: serial)
        try write()
        if droppedSerial == serial { throw .notSent(.descriptorNotPassed) }
        return serial
    }

    private func write() throws(CallError) {
        while let socket, !output.isEmpty {
            switch output.write(to: socket) {
            case .written: break
            case .dropped(let serial):
                droppedSerial = serial
                if let index = calls.firstIndex(where: { $0.serial == serial }) {
                    calls[index].failure = .notSent(.descriptorNotPassed)
                }
            case .full: return
            // Earlier answers from the other end can still be read, followed by the end of the input.
            case .ended: output = OutputBuffer()
            case .failed:
                isOpen = false
                throw .disconnected
            }
        }
    }

    /// Waits for the answer to a call.
    ///
    /// - Returns: Whether the answer arrived before the deadline.
    private func wait(
        for serial: UInt32,
        until deadline: ContinuousClock.Instant?,
        _ watches: [DescriptorToWatch]
    ) throws(CallError) -> Bool {
        while unfinishedCall(serial)?.answer == nil {
            if let failure = unfinishedCall(serial)?.failure { throw failure }
            do throws(CallError) {
                guard try dispatch(until: deadline, watches) else { return false }
            } catch {
                if unfinishedCall(serial)?.answer == nil { throw error }
            }
        }
        return true
    }

    private func unfinishedCall(_ serial: UInt32) -> UnfinishedCall? { calls.first { $0.serial == serial } }

    /// Waits for a message or for a readable descriptor, and handles what has arrived.
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
        if try takeMessage() { return true }
        guard isOpen, let socket else { throw .disconnected }
        waitForInput(socket, milliseconds, watches)
        try write()
        do throws(MalformedMessage) {
            switch try input.read(from: socket) {
            case .read, .empty: break
            case .ended, .failed: isOpen = false
            }
        } catch {
            isOpen = false
            throw .disconnected
        }
        _ = try takeMessage()
        return true
    }

    /// Handles the next message.
    ///
    /// - Returns: False if part of the message is still missing.
    private func takeMessage() throws(CallError) -> Bool {
        do throws(MalformedMessage) {
            guard try authenticate(), let message = try input.nextMessage() else { return false }
            take(message)
            return true
        } catch {
            isOpen = false
            throw .disconnected
        }
    }

    /// Takes the other end's answer to the authentication.
    ///
    /// - Returns: Whether messages follow.
    private func authenticate() throws(MalformedMessage) -> Bool {
        guard authentication != nil else { return true }
        guard let passes = try authentication?.passesDescriptors(&input) else { return false }
        passesDescriptors = passes
        input.beginMessages()
        authentication = nil
        return true
    }

    /// A descriptor, and a closure to call whenever it is readable.
    public typealias DescriptorToWatch = (descriptor: CInt, isReadable: () -> Void)

    /// Waits until the socket is ready, or until a descriptor is readable.
    private func waitForInput(_ socket: CInt, _ milliseconds: CInt, _ watches: [DescriptorToWatch]) {
        let events = output.isEmpty ? POLLIN : POLLIN | POLLOUT
        var descriptors = watches.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        descriptors.append(pollfd(fd: socket, events: Int16(events), revents: 0))
        guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
        for (watch, state) in zip(watches, descriptors) where state.revents != 0 { watch.isReadable() }
    }

    /// Handles a message that has arrived.
    private func take(_ message: Message) {
        guard message.isValid else { return }
        switch message.kind {
        case .methodReturn, .error: takeAnswer(message)
        case .methodCall: refuse(message)
        case .signal:
            for handler in signalHandlers.values { handler(message) }
            if let change = BusDriver.ownerChange(message) { calledNames.setOwner(of: change.name, change.new) }
        case nil: break
        }
    }

    /// Keeps a message if it answers one of the calls.
    private func takeAnswer(_ message: Message) {
        let serial = message.replySerial
        if let name = questions[serial], calledNames.isAnswer(message, to: .bus) {
            questions[serial] = nil
            return learn(of: name, from: message)
        }
        guard let index = calls.firstIndex(where: { $0.serial == serial }), calls[index].answer == nil,
            !isOnBus || calledNames.isAnswer(message, to: calls[index].destination)
        else { return }
        calls[index].answer = message
    }

    /// Handles the bus's answer to `AddMatch`, which is empty, or to `GetNameOwner`.
    private func learn(of name: BusName, from answer: Message) {
        do throws(CallError) {
            let owner: String = try answer.outcome()
            calledNames.setOwner(of: name, BusName(owner))
        } catch .unexpectedReply {
            // This was the answer to `AddMatch`.
        } catch .remote(let error) where error.name == .nameHasNoOwner {
            // Once the service runs, the bus reports its owner.
        } catch {
            calledNames.remove(name)
            for index in calls.indices where calls[index].destination == name { calls[index].failure = error }
        }
    }

    /// Answers a call from another program. Only the calls of ``PeerInterface`` succeed.
    private func refuse(_ call: Message) {
        let address = ReplyAddress(ofCall: call, from: call.sender)
        guard address.isExpected else { return }
        do {
            let limit = ConnectionLimits().messageBytes
            let error = RemoteError(.unknownObject, "this program has no objects")
            let answer = try PeerInterface.Call(call)?.answer(at: address, limit: limit)
            _ = try send(try answer ?? .error(to: address, error, limit: limit))
        } catch {
            // Either the connection has ended, or there is no memory for an answer. The caller's own time limit ends
            // the call.
        }
    }
}

/// A call whose answer has not been taken yet.
///
/// There are never many at once, so an array holds them: a dictionary would search the whole program's conformances for
/// that of its key type.
private struct UnfinishedCall {
    let serial: UInt32
    let destination: BusName?
    var answer: Message?
    /// Why the call failed, if it was not sent, or its answer could not be recognised.
    var failure: CallError?
}
