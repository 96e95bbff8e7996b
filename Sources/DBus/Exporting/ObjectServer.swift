internal import Reactor

/// The objects that a connection exports, and the calls of their methods, from their arrival to their answers.
///
/// Its methods get the connection that it belongs to, which sends the answers.
final class ObjectServer {
    var objects = ObjectTree()
    var calls: IncomingCalls
    /// The time between two looks at what the other end reads.
    var readingTime = Duration.seconds(5)
    private let limits: ConnectionLimits
    private let isOnBus: Bool
    /// The timer for callers that have to wait because they call too often; nil while there are none.
    private var paceTimer: TimerID?
    /// Number of tasks that wait until all calls are answered.
    private var waitingTasks = 0
    private var reading = ReadingProgress(at: nil)
    private var readingTimer: TimerID?
    /// Whether those tasks do not wait for programs that do not read.
    private var ignoresUnread = false

    init(_ limits: ConnectionLimits, _ accounts: CallAccounts?, isOnBus: Bool) {
        calls = IncomingCalls(limits, accounts, isOnBus: isOnBus)
        self.limits = limits
        self.isOnBus = isOnBus
    }

    // MARK: Arrival

    func receive(_ message: Message, from sender: BusName?, on connection: isolated Connection) {
        guard let path = message.path, let member = message.member else { return }
        let address = ReplyAddress(ofCall: message, from: sender)
        if let call = PeerInterface.Call(message) {
            return answerInTurn(address, on: connection) { [limits] in
                try call.answer(at: address, limit: limits.messageBytes)
            }
        }
        if message.interface == PeerInterface.name {
            let error = RemoteError(.unknownMethod, "\(PeerInterface.name) has no method \(member)")
            return refuse(address, error, on: connection)
        }
        let method: ExportedMethod
        switch objects.method(path, message.interface, member) {
        case .success(let found): method = found
        case .failure(let error): return refuse(address, error, on: connection)
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
            return refuse(address, error, on: connection)
        }
        let excess = calls.add(load, of: sender, descriptors) { number in
            let call = IncomingCall(
                connection: connection,
                sender: sender,
                path: path,
                argumentBytes: load.bytes,
                number: number
            )
            return ObjectServer.start(number, body, call, address)
        }
        if let excess { refuse(address, excess, on: connection) }
    }

    private func refuse(_ address: ReplyAddress, _ error: any Error, on connection: isolated Connection) {
        guard address.isExpected else { return }
        answerInTurn(address, on: connection) { [limits] in
            try WrittenMessage.error(to: address, RemoteError(answering: error), limit: limits.messageBytes)
        }
    }

    /// Answers a call when its turn comes.
    private func answerInTurn(
        _ address: ReplyAddress,
        on connection: isolated Connection,
        _ write: @escaping @Sendable () throws -> WrittenMessage
    ) {
        let mayWait = calls.addRefused(of: address.sender) {
            connection.assumeIsolated { $0.server.answer(address, on: $0, write) }
        }
        // The caller's own time limit ends the call. Without a bus, the other end keeps sending calls and does not read
        // the answers.
        if !mayWait, !isOnBus { connection.disconnect(.unread) }
    }

    // MARK: Start

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
    func startCall(on connection: isolated Connection) {
        guard calls.waiting > 0 else { return }
        guard connection.outgoing.waitingBytes <= Self.startingBytes else { return resumeIfAnswered(on: connection) }
        guard !isOnBus || connection.outputWatch?.isEnabled != true else { return }
        starting: for _ in 0..<Self.callsPerTurn {
            switch calls.startNext() {
            case .started: continue
            case .refused(let answer):
                answer()
                break starting
            case .startedTask, nil: break starting
            }
        }
        if calls.waiting > 0 { connection.scheduleDispatch() }
        endStarting(on: connection)
    }

    /// Does what has to follow after calls have started, or have been refused.
    private func endStarting(on connection: isolated Connection) {
        if paceTimer == nil, let end = calls.paceEnd {
            paceTimer = connection.loop.schedule(at: end) {
                connection.assumeIsolated { $0.server.endPaces(on: $0) }
            }
        }
        resumeIfAnswered(on: connection)
    }

    private func endPaces(on connection: isolated Connection) {
        paceTimer = nil
        calls.endPaces()
        startCall(on: connection)
        endStarting(on: connection)
    }

    /// Starts a call, on the loop's thread.
    ///
    /// - Returns: The call's task; nil if it has none.
    private static func start(
        _ number: UInt64,
        _ body: ExportedMethod.Body,
        _ call: IncomingCall,
        _ address: ReplyAddress
    ) -> Task<Void, Never>? {
        let connection = call.connection
        // The loop runs its jobs in the order in which they are added, so calls of both kinds start in order.
        switch body {
        case .task(let body):
            // Because the task prefers the loop, its suspended parts continue in the order in which they were resumed.
            return connection.assumeIsolated { connection in
                connection.loop.startTask { await ObjectServer.run(number, body, call, address, on: connection) }
            }
        case .immediate(let body):
            connection.loop.execute {
                body(call) { result in
                    connection.loop.execute {
                        connection.assumeIsolated { $0.server.end(number, address, result, on: $0) }
                    }
                }
            }
            return nil
        }
    }

    private static func run(
        _ number: UInt64,
        _ body: (IncomingCall) async throws -> any MessageBody,
        _ call: IncomingCall,
        _ address: ReplyAddress,
        on connection: isolated Connection
    ) async {
        let result: Result<any MessageBody, any Error>
        do {
            result = .success(try await body(call))
        } catch {
            result = .failure(error)
        }
        connection.server.end(number, address, result, on: connection)
    }

    // MARK: Answer

    /// Answers a call, unless it already has an answer.
    private func end(
        _ number: UInt64,
        _ address: ReplyAddress,
        _ result: Result<any MessageBody, any Error>,
        on connection: isolated Connection
    ) {
        guard calls.end(number) else { return }
        defer { resumeIfAnswered(on: connection) }
        do {
            let output = try result.get()
            guard address.isExpected else { return }
            let answer = try WrittenMessage.reply(to: address, output, limit: limits.messageBytes)
            if try send(answer, to: address.sender, isError: false, on: connection) { return }
            throw RemoteError(.limitsExceeded, "too many answers have not been read; call again later")
        } catch CallError.disconnected where !connection.isOpen {
            // The connection has ended, so there is no caller left to answer.
        } catch {
            answer(address, on: connection) {
                try WrittenMessage.error(to: address, RemoteError(answering: error), limit: limits.messageBytes)
            }
        }
    }

    /// Sends an error, or another answer for which there always has to be room, unless the caller wants no answer.
    private func answer(
        _ address: ReplyAddress,
        on connection: isolated Connection,
        _ write: () throws -> WrittenMessage
    ) {
        guard address.isExpected else { return }
        do {
            _ = try send(try write(), to: address.sender, isError: true, on: connection)
        } catch {
            // Either the connection has ended, or there is no memory for an answer. The caller's own time limit ends
            // the call.
        }
    }

    /// Sends the answer to another program's call, unless too many bytes are waiting for the other end.
    ///
    /// A caller must not be able to end a service's connection. So an answer that is too large is replaced by an error,
    /// and if there is no room for the error, it is left out. The room that stays free is for signals.
    ///
    /// Without a bus, the other end is the only caller. Its answers wait in this program, and are also replaced by
    /// errors if its account leaves too much unread and the answer would make this connection leave more. If it does
    /// not read the errors either, ``Connection/send(_:to:)`` ends the connection.
    ///
    /// - Returns: False if there is no room for the answer.
    private func send(
        _ message: WrittenMessage,
        to caller: BusName?,
        isError: Bool,
        on connection: isolated Connection
    ) throws(CallError) -> Bool {
        if !connection.outgoing.hasRoom(forAnswerOf: message.size, isError: isError), isOnBus || !isError {
            return false
        }
        // The account's other connections may well read. Without its answer, a caller would repeat what has been done.
        if !isOnBus, !isError, connection.outgoing.waitingBytes + message.size > IncomingCalls.fewBytes,
            calls.isHeld(caller)
        {
            return false
        }
        try connection.send(message, to: caller)
        return true
    }

    // MARK: Programs that do not read

    /// Whether a signal to a program is to be dropped, because the program does not read.
    ///
    /// Without a bus, half of the room for waiting messages is for answers.
    func dropsSignals(to receiver: BusName, on connection: isolated Connection) -> Bool {
        if isOnBus { return calls.isHeld(receiver) }
        let waiting = connection.outgoing.waitingBytes
        return waiting > limits.unreadBytes / 2 || waiting > IncomingCalls.fewBytes && calls.isHeld(receiver)
    }

    /// Without a bus, counts the bytes that are waiting for the other end. A connection that is closing has left its
    /// account.
    func countWaiting(on connection: isolated Connection) {
        guard !isOnBus, connection.isOpen else { return }
        calls.setWaiting(connection.outgoing.waitingBytes, for: connection.peerName)
    }

    /// Whether a task that waits until all calls are answered has nothing to wait for.
    func isAnswered(on connection: isolated Connection) -> Bool {
        if calls.isIdle { return true }
        return ignoresUnread && calls.isIdle(exceptUnreadWhere: !leavesMuch(on: connection))
    }

    func resumeIfAnswered(on connection: isolated Connection) {
        if isAnswered(on: connection) { connection.waiters.resumeAll(.answered) }
    }

    /// Whether no call starts because the other end of a connection without a bus has to read first.
    private func leavesMuch(on connection: isolated Connection) -> Bool {
        !isOnBus && connection.outgoing.waitingBytes > Self.startingBytes
    }

    /// Notes that a task begins to wait until all calls are answered.
    func beginWait(on connection: isolated Connection) {
        waitingTasks += 1
        guard waitingTasks == 1 else { return }
        ignoresUnread = false
        reading = ReadingProgress(at: position(on: connection))
        scheduleLook(on: connection)
    }

    func endWait(on connection: isolated Connection) {
        waitingTasks -= 1
        guard waitingTasks == 0, let timer = readingTimer else { return }
        connection.loop.cancelTimer(timer)
        readingTimer = nil
    }

    private func scheduleLook(on connection: isolated Connection) {
        readingTimer = connection.loop.schedule(at: .now + readingTime) {
            connection.assumeIsolated { connection in
                connection.server.look(on: connection)
                if !connection.server.isOnBus { connection.server.scheduleLook(on: connection) }
            }
        }
    }

    /// Looks whether the other end reads.
    func look(on connection: isolated Connection) {
        ignoresUnread = isOnBus || reading.hasStopped(at: position(on: connection))
        resumeIfAnswered(on: connection)
    }

    private func position(on connection: isolated Connection) -> ReadingProgress.Position? {
        leavesMuch(on: connection) ? connection.outgoing.position(in: connection.socket) : nil
    }

    // MARK: The end

    /// Notes that the other end, which has a name, has closed. Its calls continue, and those that have not started do
    /// so in their turn.
    func leave(_ name: BusName, on connection: isolated Connection) {
        calls.leave(name)
        if calls.waiting > 0 { connection.scheduleDispatch() }
    }
}

extension RemoteError {
    /// The error that a caller gets if its call fails.
    init(answering error: any Error) {
        self =
            switch error {
            case let error as any DBusErrorConvertible: error.dbusError
            case MessageDecodingError.tooLarge(let limit):
                RemoteError(.limitsExceeded, "the arguments hold more than \(limit) bytes")
            case let error as MessageDecodingError: RemoteError(.invalidArguments, "wrong arguments: \(error)")
            case let error as MessageEncodingError: RemoteError(.failed, "the answer cannot be sent: \(error)")
            case CallError.notSent(let error): RemoteError(.failed, "the answer cannot be sent: \(error)")
            default: RemoteError(.failed, String(describing: error))
            }
    }
}
