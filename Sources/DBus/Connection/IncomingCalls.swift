internal import CDBus

/// The unanswered calls of other programs, which are counted for the limits and cancelled when the connection ends.
struct IncomingCalls {
    private struct Call {
        let load: Load
        let sender: BusName?
        let descriptors: [ReceivedDescriptor]
        var task: Task<Void, Never>?
    }

    /// A sender that has called and has not left the bus.
    private struct Sender {
        var account: CallAccounts.Account
        /// The numbers of its calls without an answer.
        var calls: Set<UInt64> = []
    }

    private var calls: [UInt64: Call] = [:]
    private var senders: [BusName?: Sender] = [:]
    private(set) var accounts: CallAccounts
    private var lastNumber: UInt64 = 0

    init(_ limits: ConnectionLimits) {
        accounts = CallAccounts(limits)
    }

    var isIdle: Bool { calls.isEmpty }

    /// Counts a call.
    ///
    /// - Returns: The number of the call, or an error that names the exceeded limit.
    mutating func begin(
        _ load: Load,
        of sender: BusName?,
        _ descriptors: [ReceivedDescriptor]
    ) -> Result<UInt64, RemoteError> {
        let account = senders[sender, default: Sender(account: .sender(sender))].account
        if let excess = accounts.excess(of: account, load) { return .failure(RemoteError(.limitsExceeded, excess)) }
        accounts.add(load, to: account)
        lastNumber += 1
        calls[lastNumber] = Call(load: load, sender: sender, descriptors: descriptors)
        senders[sender, default: Sender(account: account)].calls.insert(lastNumber)
        return .success(lastNumber)
    }

    mutating func started(_ number: UInt64, _ task: Task<Void, Never>) {
        calls[number]?.task = task
    }

    mutating func end(_ number: UInt64) {
        guard let call = calls.removeValue(forKey: number),
            // The call of a sender that has left is not counted any longer.
            let account = senders[call.sender]?.account
        else { return }
        senders[call.sender]?.calls.remove(number)
        accounts.remove(call.load, from: account)
    }

    /// Counts the calls of a sender to an account from now on. A sender that has not called, or has left, is ignored.
    mutating func setAccount(_ account: String, of name: BusName) {
        guard let sender = senders[name], sender.account != .named(account) else { return }
        senders[name]?.account = .named(account)
        for load in sender.calls.compactMap({ calls[$0]?.load }) {
            accounts.remove(load, from: sender.account)
            accounts.add(load, to: .named(account))
        }
    }

    /// Gives back everything that is counted for a sender, which has left the bus. Its calls continue.
    mutating func leave(_ name: BusName) {
        guard let sender = senders.removeValue(forKey: name) else { return }
        for call in sender.calls.compactMap({ calls[$0] }) {
            accounts.remove(call.load, from: sender.account)
            for received in call.descriptors { received.descriptor?.closeNow() }
        }
    }

    func cancel(_ number: UInt64) {
        calls[number]?.task?.cancel()
    }

    func cancelAll() {
        for call in calls.values { call.task?.cancel() }
    }
}

/// A descriptor in the arguments of a call, which the method keeps as long as it needs the descriptor.
struct ReceivedDescriptor {
    weak var descriptor: UnixFD?
}

extension Connection {
    /// Exports an object with these interfaces. Other programs can call the object at once.
    ///
    /// The interfaces `Introspectable`, `Properties` and `Peer` are added automatically. More interfaces can be added
    /// to the same path later; an interface replaces an earlier one of the same name. The connection drops the
    /// interfaces when it ends, so their methods may hold the connection.
    public func export(_ interfaces: [ExportedInterface], at path: ObjectPath) {
        guard state == .open else { return }
        objects.add(interfaces, at: path)
    }

    /// Removes an object with all its interfaces. Calls that have begun continue.
    public func unexport(_ path: ObjectPath) {
        objects.remove(path)
    }

    /// Exports one object for all paths below a path. The methods learn the path from ``IncomingCall/path``.
    ///
    /// The introspection of the path lists no names below it, so a caller cannot learn from it which of the paths mean
    /// something. A later subtree at the same path replaces the earlier one.
    public func exportSubtree(_ interfaces: [ExportedInterface], below path: ObjectPath) {
        guard state == .open else { return }
        objects.addSubtree(interfaces, below: path)
    }

    /// Counts the calls of a sender, also its earlier ones, to an account from now on.
    ///
    /// Before that, each sender has an account of its own. One account gets at most half of what is left of each of the
    /// ``ConnectionLimits``. A sender that has not called an object of this connection, or has left the bus, is ignored.
    ///
    /// - Parameters:
    ///   - account: The account, for example the program that the sender belongs to.
    ///   - sender: The unique name of the sender.
    public func setAccount(_ account: String, of sender: BusName) {
        incomingCalls.setAccount(account, of: sender)
    }

    /// Makes the bus tell the beginning and the end of each connection, with one rule for all of them.
    ///
    /// The calls of a sender that leaves the bus give back what they use, and ``newestConnection`` is known. Each connection of
    /// any program then wakes this program twice, so only a service with many callers follows them. Does nothing without a bus.
    public func followConnections() async throws(CallError) {
        guard let uniqueName, newestConnection == nil else { return }
        newestConnection = ConnectionNumber(uniqueName)
        try await addMatch(BusDriver.connectionRule)
    }

    /// Waits until every call that has arrived has its answer, or until the task is cancelled.
    ///
    /// Do not call this method in an exported method: the exported method would wait for its own answer until the
    /// connection ends. Wait in another task instead.
    public func waitUntilAnswered() async {
        await wait(for: .answered)
    }

    /// Returns the sender of a message; nil without a bus, because the sender could then be forged. A bus sets the
    /// sender itself.
    func sender(of pointer: OpaquePointer) -> BusName? {
        guard uniqueName != nil else { return nil }
        return dbus_message_get_sender(pointer).map { BusName(trusted: String(cString: $0)) }
    }

    func receiveCall(_ pointer: OpaquePointer) {
        guard let objectPath = dbus_message_get_path(pointer), let member = dbus_message_get_member(pointer) else {
            return
        }
        let sender = sender(of: pointer)
        let address = ReplyAddress(ofCall: pointer, from: sender)
        if answerPeerCall(pointer, address) { return }
        let path = ObjectPath(trusted: String(cString: objectPath))
        let interface = dbus_message_get_interface(pointer).map { InterfaceName(trusted: String(cString: $0)) }
        let method: ExportedMethod
        switch objects.method(path, interface, MemberName(trusted: String(cString: member))) {
        case .success(let found): method = found
        case .failure(let error): return answer(address, with: error)
        }
        let body: ExportedMethod.Body
        let load: Load
        let descriptors: [ReceivedDescriptor]
        do throws(MessageDecodingError) {
            try Message.check(pointer, method.inputSignature)
            var reader = MessageReader(message: pointer, limit: limits.bodyBytes)
            body = try method.begin(&reader)
            load = Load(bytes: reader.bytes, descriptors: reader.descriptors.count)
            descriptors = reader.descriptors.map { ReceivedDescriptor(descriptor: $0) }
        } catch {
            return answer(address, with: error)
        }
        let number: UInt64
        switch incomingCalls.begin(load, of: sender, descriptors) {
        case .success(let next): number = next
        case .failure(let error): return answer(address, with: error)
        }
        let call = IncomingCall(
            connection: self,
            sender: sender,
            path: path,
            argumentBytes: load.bytes,
            number: number
        )
        // Tasks of one actor start in the order in which they are created. The task prefers the loop, so that its
        // suspended parts continue in the order in which they were resumed.
        let task = Task(executorPreference: loop) { await self.run(number, body, call, address) }
        incomingCalls.started(number, task)
    }

    /// Answers a call of ``PeerInterface``.
    ///
    /// - Returns: Whether the message is such a call.
    private func answerPeerCall(_ pointer: OpaquePointer, _ address: ReplyAddress) -> Bool {
        do {
            guard let answer = try PeerInterface.answer(to: pointer, at: address, limit: limits.messageBytes) else {
                return false
            }
            if address.isExpected { _ = try sendAnswer(answer, isError: true) }
        } catch {
            // The connection has ended, or there is no memory for an answer. The caller's own time limit ends the call.
        }
        return true
    }

    private func run(
        _ number: UInt64,
        _ body: ExportedMethod.Body,
        _ call: IncomingCall,
        _ address: ReplyAddress
    ) async {
        defer {
            incomingCalls.end(number)
            if incomingCalls.isIdle { waiters.resumeAll(.answered) }
        }
        do {
            let output = try await body(call)
            guard address.isExpected else { return }
            let answer = try Message.reply(to: address, output, limit: limits.messageBytes)
            if try sendAnswer(answer, isError: false) { return }
            throw RemoteError(.limitsExceeded, "too many answers wait for the bus; call again later")
        } catch CallError.disconnected where state != .open {
            // The connection has ended, so there is no caller to answer.
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
            _ = try sendAnswer(try Message.error(to: address, answer, limit: limits.messageBytes), isError: true)
        } catch {
            // The connection has ended, or there is no memory for an answer. The caller's own time limit ends the call.
        }
    }
}
