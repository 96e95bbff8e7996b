internal import Reactor

extension Connection {
    /// Exports an object with these interfaces. Other programs can call the object at once.
    ///
    /// The interfaces `Introspectable`, `Properties` and `Peer` are added automatically. You can add more interfaces to
    /// the same path later; an interface replaces an earlier one with the same name. The connection drops all of them
    /// when it ends, so their methods may hold the connection.
    public func export(_ interfaces: [ExportedInterface], at path: ObjectPath) {
        guard state == .open else { return }
        objects.add(interfaces, at: path)
    }

    /// Removes an object with all its interfaces. Calls that have begun continue.
    public func unexport(_ path: ObjectPath) {
        objects.remove(path)
    }

    /// Removes all objects. Calls that have begun continue.
    public func unexportAll() {
        objects = ObjectTree()
    }

    /// Exports one object for all paths below a path. Its methods get the path from ``IncomingCall/path``.
    ///
    /// If several subtrees contain a path, the one with the longest path answers. An object at the path itself comes
    /// first.
    ///
    /// Introspecting the path lists no names below it, so a caller cannot find out which of them exist. If you export
    /// another subtree at the same path, it replaces this one.
    public func exportSubtree(_ interfaces: [ExportedInterface], below path: ObjectPath) {
        guard state == .open else { return }
        objects.addSubtree(interfaces, below: path)
    }

    /// From now on, counts a sender's calls, including earlier ones, towards an account.
    ///
    /// Until then, each sender has its own account. For each of the ``ConnectionLimits``, one account gets at most half
    /// of what is left. A sender is ignored if it has not called one of this connection's objects, or has left the bus.
    ///
    /// - Parameters:
    ///   - account: The account, for example the program that the sender belongs to.
    ///   - isPaced: Whether the account may start only a limited number of calls per second: 1,000 on this connection.
    ///     Further calls wait.
    ///   - sender: The sender's unique name.
    /// - Returns: False if the sender was ignored.
    @discardableResult
    public func setAccount(_ account: String, isPaced: Bool = false, of sender: BusName) -> Bool {
        incomingCalls.setAccount(account, isPaced: isPaced, of: sender)
    }

    /// Makes the bus report when any connection begins or ends, with one rule for all of them.
    ///
    /// From then on, when a sender leaves the bus, its calls release what they use; ``newestConnection`` is also known.
    /// Otherwise, each call releases it with its answer. If there are many senders, this connection then forgets those
    /// without unanswered calls, together with their accounts.
    ///
    /// The cost is that each connection that any program opens wakes this one twice, so only a service with many
    /// callers should follow them. Does nothing without a bus. If this fails, you can call it again.
    ///
    /// - Parameter ownerChanged: Called on the event loop each time a well-known name gets, changes or loses its owner.
    public func followConnections(
        _ ownerChanged: (@Sendable (_ name: BusName, _ new: BusName?) -> Void)? = nil
    ) async throws(CallError) {
        guard let uniqueName, newestConnection == nil else { return }
        followedNames = ownerChanged
        newestConnection = ConnectionNumber(uniqueName)
        incomingCalls.learnsWhoLeaves = true
        do throws(CallError) {
            try await addMatch(BusDriver.connectionRule)
        } catch {
            followedNames = nil
            newestConnection = nil
            incomingCalls.learnsWhoLeaves = false
            throw error
        }
    }

    /// Waits until every call that has arrived has its answer, or until the task is cancelled.
    ///
    /// After five seconds, it no longer waits for calls that have not started because their senders do not read earlier
    /// answers. Otherwise, such a program could keep a service from exiting.
    ///
    /// Do not call this in an exported method, which would wait for its own answer until the connection ends. Wait in
    /// another task instead.
    public func waitUntilAnswered() async {
        let timer = loop.schedule(at: .now + Self.readingTime) {
            self.assumeIsolated { connection in
                connection.ignoresUnread = true
                connection.resumeIfAnswered()
            }
        }
        await wait(for: .answered)
        loop.cancelTimer(timer)
    }

    /// How long ``waitUntilAnswered()`` waits for programs that do not read.
    private static let readingTime = Duration.seconds(5)

    /// Whether ``waitUntilAnswered()`` has nothing to wait for.
    var isAnswered: Bool {
        if incomingCalls.isIdle { return true }
        let isRead = uniqueName != nil || waitingBytes <= Self.startingBytes
        return ignoresUnread && incomingCalls.isIdle(exceptUnreadWhere: isRead)
    }

    func resumeIfAnswered() {
        if isAnswered { waiters.resumeAll(.answered) }
    }

    /// Returns the sender of a message. Without a bus, that is the name that this program has given the other end, or
    /// nil.
    func sender(of message: Message) -> BusName? {
        guard uniqueName != nil else { return peerName }
        return message.sender
    }

    func receiveCall(_ message: Message) {
        guard let path = message.path, let member = message.member else { return }
        let sender = sender(of: message)
        let address = ReplyAddress(ofCall: message, from: sender)
        if let call = PeerInterface.Call(message) {
            return answerInTurn(address) { $0.answer(address, call) }
        }
        if message.interface == PeerInterface.name {
            return refuse(address, RemoteError(.unknownMethod, "\(PeerInterface.name) has no method \(member)"))
        }
        let method: ExportedMethod
        switch objects.method(path, message.interface, member) {
        case .success(let found): method = found
        case .failure(let error): return refuse(address, error)
        }
        let body: ExportedMethod.Body
        let load: CallLoad
        let descriptors: [ReceivedDescriptor]
        do throws(MessageDecodingError) {
            try message.check(method.inputSignature)
            var reader = MessageReader(message: message, limit: limits.bodyBytes)
            body = try method.begin(&reader)
            try reader.expectEnd()
            load = CallLoad(bytes: reader.size, descriptors: reader.descriptors.count)
            descriptors = reader.descriptors.map { ReceivedDescriptor(descriptor: $0) }
        } catch {
            return refuse(address, error)
        }
        let excess = incomingCalls.add(load, of: sender, descriptors) { number in
            let call = IncomingCall(
                connection: self,
                sender: sender,
                path: path,
                argumentBytes: load.bytes,
                number: number
            )
            return self.start(number, body, call, address)
        }
        if let excess { refuse(address, excess) }
    }

    private func refuse(_ address: ReplyAddress, _ error: any Error) {
        guard address.isExpected else { return }
        answerInTurn(address) { $0.answer(address, with: error) }
    }

    /// Answers a call when its turn comes.
    private func answerInTurn(_ address: ReplyAddress, _ answer: @escaping @Sendable (isolated Connection) -> Void) {
        let mayWait = incomingCalls.addRefused(of: address.sender) { self.assumeIsolated(answer) }
        // The caller's own time limit ends the call. Without a bus, the other end keeps sending calls and does not read
        // the answers.
        if !mayWait, uniqueName == nil { disconnect(.unread) }
    }

    /// Number of waiting bytes above which no call starts, because the answers to later calls, possibly from other
    /// programs, would queue up behind these bytes.
    private static let startingBytes = 64 << 10

    /// Number of calls without a task that start in one turn of the loop. Their answers share a system call.
    private static let callsPerTurn = 16

    /// Starts the call whose turn it is, and those without a task that follow it.
    ///
    /// The next call starts in a later turn of the loop, after the work of this one. Messages are read in between,
    /// because an answer that a started call awaits arrives on the same socket as the calls.
    ///
    /// On a bus, no call starts while the socket is full. A busy bus reads only a few kilobytes at a time, and the
    /// answers would pile up in front of those to other programs.
    func startCall() {
        guard incomingCalls.waiting > 0 else { return }
        guard waitingBytes <= Self.startingBytes else { return resumeIfAnswered() }
        guard uniqueName == nil || outputWatch?.isEnabled != true else { return }
        starting: for _ in 0..<Self.callsPerTurn {
            switch incomingCalls.startNext() {
            case .started: continue
            case .refused(let answer):
                answer()
                break starting
            case .startedTask, nil: break starting
            }
        }
        if incomingCalls.waiting > 0 { scheduleDispatch() }
        endStarting()
    }

    /// Does what has to follow after calls have started, or have been refused.
    func endStarting() {
        if let end = incomingCalls.paceEnd { scheduleEndOfPaces(end) }
        resumeIfAnswered()
    }

    private func scheduleEndOfPaces(_ end: ContinuousClock.Instant) {
        guard paceTimer == nil else { return }
        paceTimer = loop.schedule(at: end) { [weak self] in
            self?.assumeIsolated { connection in
                connection.paceTimer = nil
                connection.incomingCalls.endPaces()
                connection.startCall()
                if let next = connection.incomingCalls.paceEnd { connection.scheduleEndOfPaces(next) }
            }
        }
    }

    /// Answers a call to ``PeerInterface``.
    private func answer(_ address: ReplyAddress, _ call: PeerInterface.Call) {
        do {
            let answer = try call.answer(at: address, limit: limits.messageBytes)
            if address.isExpected { _ = try sendAnswer(answer, to: address, isError: true) }
        } catch {
            // Either the connection has ended, or there is no memory for an answer. The caller's own time limit ends
            // the call.
        }
    }

    /// Starts a call.
    ///
    /// - Returns: The call's task; nil if it has none.
    private nonisolated func start(
        _ number: UInt64,
        _ body: ExportedMethod.Body,
        _ call: IncomingCall,
        _ address: ReplyAddress
    ) -> Task<Void, Never>? {
        // The loop runs its jobs in the order in which they are added, so calls of both kinds start in order.
        switch body {
        case .task(let body):
            // Because the task prefers the loop, its suspended parts continue in the order in which they were resumed.
            return assumeIsolated { connection in
                loop.startTask { await connection.run(number, body, call, address) }
            }
        case .immediate(let body):
            loop.execute {
                body(call) { result in
                    self.loop.execute { self.assumeIsolated { $0.end(number, address, result) } }
                }
            }
            return nil
        }
    }

    private func run(
        _ number: UInt64,
        _ body: (IncomingCall) async throws -> any MessageBody,
        _ call: IncomingCall,
        _ address: ReplyAddress
    ) async {
        let result: Result<any MessageBody, any Error>
        do {
            result = .success(try await body(call))
        } catch {
            result = .failure(error)
        }
        end(number, address, result)
    }

    /// Answers a call, unless it already has an answer.
    private func end(_ number: UInt64, _ address: ReplyAddress, _ result: Result<any MessageBody, any Error>) {
        guard incomingCalls.end(number) else { return }
        defer { resumeIfAnswered() }
        do {
            let output = try result.get()
            guard address.isExpected else { return }
            let answer = try WrittenMessage.reply(to: address, output, limit: limits.messageBytes)
            if try sendAnswer(answer, to: address, isError: false) { return }
            throw RemoteError(.limitsExceeded, "too many answers have not been read; call again later")
        } catch CallError.disconnected where state != .open {
            // The connection has ended, so there is no caller left to answer.
        } catch {
            answer(address, with: error)
        }
    }

    private func answer(_ address: ReplyAddress, with error: any Error) {
        guard address.isExpected else { return }
        let answer: RemoteError =
            switch error {
            case let error as any DBusErrorConvertible: error.dbusError
            case MessageDecodingError.tooLarge(let limit):
                RemoteError(.limitsExceeded, "the arguments hold more than \(limit) bytes")
            case let error as MessageDecodingError: RemoteError(.invalidArguments, "wrong arguments: \(error)")
            case let error as MessageEncodingError: RemoteError(.failed, "the answer cannot be sent: \(error)")
            case CallError.notSent(let error): RemoteError(.failed, "the answer cannot be sent: \(error)")
            default: RemoteError(.failed, String(describing: error))
            }
        do {
            let message = try WrittenMessage.error(to: address, answer, limit: limits.messageBytes)
            _ = try sendAnswer(message, to: address, isError: true)
        } catch {
            // Either the connection has ended, or there is no memory for an answer. The caller's own time limit ends
            // the call.
        }
    }
}
