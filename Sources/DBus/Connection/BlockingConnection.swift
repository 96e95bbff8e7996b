internal import CLinux
internal import Glibc

/// A connection for a program that makes a call and ends. Everything happens on the calling thread.
///
/// The connection starts neither the event loop nor Swift's concurrency runtime, which take most of the time of a short
/// program. A blocking connection cannot export objects.
public final class BlockingConnection {
    /// The socket; nil once another object has taken it over.
    private var socket: CInt?
    private var passesDescriptors: Bool
    private var input: InputBuffer
    /// The authentication, whose answer comes before the messages; nil if it is over.
    private var authentication: AuthenticationRequest?
    private var output = OutputBuffer()
    /// Whether the other end has not closed the connection, as far as the messages say that have been handled.
    public private(set) var isOpen = true
    private let isOnBus: Bool
    /// The largest call.
    private var callBytes = ConnectionLimits().callSize
    /// The name that the bus has given this connection, or the other end of a connection without a bus; nil if it has given none.
    public private(set) var uniqueName: BusName?
    private var serials = Serials()
    private var calls: [UnfinishedCall] = []
    private var calledNames = CalledNames()
    /// The names that the bus is asked about, by the serials of the questions.
    private var questions: [UInt32: BusName] = [:]
    /// Take the signals of ``receive(_:from:_:)``, by the name of the signal.
    private var signalHandlers: [MemberName: (Message) -> Void] = [:]

    /// Connects to a bus and blocks the thread meanwhile.
    ///
    /// - Parameters:
    ///   - address: The bus.
    ///   - timeout: The time limit for the authentication and the bus's answer to `Hello`. The limit does not cover the time until
    ///     the kernel accepts the connection: if the bus is stopped and its queue of waiting connections is full, the thread stays
    ///     blocked.
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
        // For a program that `unixexec:` started, the kernel reports the credentials of this process, which made both
        // ends of the socket. Such a program belongs to this user anyway.
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
                // Any answer, even an error, proves that the program has accepted this connection.
            }
        }
    }

    /// Connects to a program of this user that listens without a bus and gives this program a name.
    ///
    /// The authentication and the first call go to the other program together, so the thread waits for the other program once.
    ///
    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - hello: The method that returns the name.
    ///   - object: The object that has the method.
    ///   - limits: The limits, of which ``ConnectionLimits/messageBytes`` and ``ConnectionLimits/callBytes`` count.
    ///   - timeout: The time limit until the other program has room for the connection, and that of the first exchange.
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

    /// The credentials of the process at the other end of the socket: the bus, or the program that listens. Nil if there is no
    /// socket. The process is nil if it has exited.
    public var peerCredentials: Credentials? { socket.flatMap { Credentials(of: $0)?.withProcess(of: $0) } }

    private init(_ authenticated: AuthenticatedSocket, isOnBus: Bool, _ limit: Int) {
        socket = authenticated.socket
        passesDescriptors = authenticated.passesDescriptors
        input = InputBuffer(limit: limit, descriptors: passesDescriptors ? InputBuffer.descriptorsAtOnce : 0)
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

    /// Gives the socket to another owner.
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

    /// Calls `handler` for each signal of a kind that an object sends to this connection, while a call waits for its answer.
    ///
    /// The destination of the object is a name that this connection is calling; a signal of another connection is left out, and
    /// so is a signal whose values have other types. A later handler takes the place of an earlier one for a
    /// signal of the same name.
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

    /// Blocks the thread until a condition holds, and calls the handler of ``receive(_:from:_:)`` meanwhile.
    ///
    /// - Parameters:
    ///   - name: The name that the signals come from.
    ///   - timeout: The time limit.
    ///   - watches: As for ``answer(to:timeout:noticeAfter:notice:watching:)``. The closure is asked again before each wait.
    ///   - isDone: The condition, which the closures of the descriptors and the handler of the signal may make true.
    /// - Returns: Whether the condition holds; false at the time limit.
    /// - Throws: The error `NoReply` if the owner of the name has exited, and ``CallError/disconnected``.
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
    ) throws(CallError) -> WrittenMessage {
        let message: WrittenMessage
        do throws(MessageEncodingError) {
            message = try .methodCall(method.interface, method.name, on: object, input, limit: callBytes)
        } catch {
            throw .notSent(error)
        }
        guard isOpen else { throw .disconnected }
        if !message.descriptors.isEmpty, !passesDescriptors { throw .notSent(.descriptorNotPassed) }
        return message
    }

    /// Writes a message, as far as the socket takes it. The rest is written while the connection waits for messages.
    private func send(_ message: WrittenMessage) throws(CallError) -> UInt32 {
        let serial = serials.next()
        output.append(message, as: serial)
        try write()
        return serial
    }

    private func write() throws(CallError) {
        while let socket, !output.isEmpty {
            switch output.write(to: socket) {
            case .written: break
            case .full: return
            // The answers of the other end can still be read, and then its end.
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
    /// - Returns: False if a part of the message is missing.
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

    /// Takes the answer to the authentication.
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

    /// A descriptor, and the closure that is called each time the descriptor is readable.
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

    /// Stores a message that answers one of the calls.
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
            // The answer to `AddMatch`.
        } catch .remote(let error) where error.name == .nameHasNoOwner {
            // The bus reports the owner that it starts.
        } catch {
            calledNames.remove(name)
            for index in calls.indices where calls[index].destination == name { calls[index].failure = error }
        }
    }

    /// Answers a call of another program, which can only be one of ``PeerInterface``.
    private func refuse(_ call: Message) {
        let address = ReplyAddress(ofCall: call, from: call.sender)
        guard address.isExpected else { return }
        do {
            let limit = ConnectionLimits().messageBytes
            let error = RemoteError(.unknownObject, "this program has no objects")
            let answer = try PeerInterface.Call(call)?.answer(at: address, limit: limit)
            _ = try send(try answer ?? .error(to: address, error, limit: limit))
        } catch {
            // The connection has ended, or there is no memory for an answer. The caller's own time limit ends the call.
        }
    }
}

/// A call whose answer was not taken yet.
///
/// A connection has few such calls, so it keeps them in an array: a dictionary searches the conformances of the whole program for
/// that of its keys.
private struct UnfinishedCall {
    let serial: UInt32
    let destination: BusName?
    var answer: Message?
    /// The error of a call whose answer could not be recognised.
    var failure: CallError?
}
