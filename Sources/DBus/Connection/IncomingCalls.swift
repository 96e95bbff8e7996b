internal import CDBus

/// The resources that unanswered calls use.
struct Load {
    var calls = 1
    var bytes: Int
    var descriptors: Int

    static let none = Load(calls: 0, bytes: 0, descriptors: 0)

    static func += (a: inout Load, b: Load) {
        a.calls += b.calls
        a.bytes += b.bytes
        a.descriptors += b.descriptors
    }

    static func -= (a: inout Load, b: Load) {
        a.calls -= b.calls
        a.bytes -= b.bytes
        a.descriptors -= b.descriptors
    }

    /// Returns a message about the first limit that is exceeded; nil if there is none.
    func excess(_ calls: Int, _ bytes: Int, _ descriptors: Int) -> String? {
        if self.calls > calls { return "too many calls are waiting for an answer" }
        if self.bytes > bytes { return "the arguments of calls that wait for an answer are too large" }
        return self.descriptors > descriptors ? "calls that wait for an answer hold too many descriptors" : nil
    }
}

/// The unanswered calls of other programs, which are counted for the limits and cancelled when the connection ends.
struct IncomingCalls {
    private var tasks: [UInt64: Task<Void, Never>] = [:]
    private var bySender: [BusName?: Load] = [:]
    private var all = Load.none
    private var lastNumber: UInt64 = 0

    var isIdle: Bool { tasks.isEmpty }

    /// Counts a call.
    ///
    /// - Returns: The number of the call, or an error that names the exceeded limit.
    mutating func begin(_ load: Load, of sender: BusName?, _ limits: ConnectionLimits) -> Result<UInt64, RemoteError> {
        var own = bySender[sender] ?? .none
        own += load
        var sum = all
        sum += load
        let excess =
            own.excess(limits.callsPerSender, limits.argumentBytesPerSender, limits.descriptorsPerSender)
            ?? sum.excess(limits.calls, limits.argumentBytes, limits.descriptors)
        if let excess { return .failure(RemoteError(.limitsExceeded, excess)) }
        bySender[sender] = own
        all = sum
        lastNumber += 1
        return .success(lastNumber)
    }

    mutating func started(_ number: UInt64, _ task: Task<Void, Never>) {
        tasks[number] = task
    }

    mutating func end(_ number: UInt64, _ load: Load, of sender: BusName?) {
        tasks[number] = nil
        all -= load
        guard var own = bySender[sender] else { return }
        own -= load
        bySender[sender] = own.calls > 0 ? own : nil
    }

    func cancelAll() {
        for task in tasks.values { task.cancel() }
    }
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
        guard let path = dbus_message_get_path(pointer), let member = dbus_message_get_member(pointer) else { return }
        let sender = sender(of: pointer)
        let address = ReplyAddress(ofCall: pointer, from: sender)
        if answerPeerCall(pointer, address) { return }
        let call = IncomingCall(connection: self, sender: sender, path: ObjectPath(trusted: String(cString: path)))
        let interface = dbus_message_get_interface(pointer).map { InterfaceName(trusted: String(cString: $0)) }
        let method: ExportedMethod
        switch objects.method(call.path, interface, MemberName(trusted: String(cString: member))) {
        case .success(let found): method = found
        case .failure(let error): return answer(address, with: error)
        }
        let body: ExportedMethod.Body
        let load: Load
        do throws(MessageDecodingError) {
            try Message.check(pointer, method.inputSignature)
            var reader = MessageReader(message: pointer, limit: limits.bodyBytes)
            body = try method.begin(&reader)
            load = Load(bytes: reader.bytes, descriptors: reader.descriptors)
        } catch {
            return answer(address, with: error)
        }
        let number: UInt64
        switch incomingCalls.begin(load, of: sender, limits) {
        case .success(let next): number = next
        case .failure(let error): return answer(address, with: error)
        }
        // Tasks of one actor start in the order in which they are created. The task prefers the loop, so that its
        // suspended parts continue in the order in which they were resumed.
        let task = Task(executorPreference: loop) { await self.run(number, load, body, call, address) }
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
            if address.isExpected { try send(answer) }
        } catch {
            // The connection has ended, or there is no memory for an answer. The caller's own time limit ends the call.
        }
        return true
    }

    private func run(
        _ number: UInt64,
        _ load: Load,
        _ body: ExportedMethod.Body,
        _ call: IncomingCall,
        _ address: ReplyAddress
    ) async {
        defer {
            incomingCalls.end(number, load, of: address.sender)
            if incomingCalls.isIdle { waiters.resumeAll(.answered) }
        }
        do {
            let output = try await body(call)
            guard address.isExpected else { return }
            try send(try Message.reply(to: address, output, limit: limits.messageBytes))
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
            try send(try Message.error(to: address, answer, limit: limits.messageBytes))
        } catch {
            // The connection has ended, or there is no memory for an answer. The caller's own time limit ends the call.
        }
    }
}
