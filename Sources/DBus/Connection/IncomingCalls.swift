internal import CDBus

/// The calls of others that wait for their answer: counted for the limits, and cancelled with the connection.
struct IncomingCalls {
    private var tasks: [UInt64: Task<Void, Never>] = [:]
    private var bySender: [BusName?: Int] = [:]
    private var lastNumber: UInt64 = 0
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []

    /// Counts a call.
    ///
    /// - Returns: its number, or nil when there are too many.
    mutating func begin(_ sender: BusName?, _ limits: ConnectionLimits) -> UInt64? {
        let count = bySender[sender, default: 0]
        guard tasks.count < limits.calls, count < limits.callsPerSender else { return nil }
        bySender[sender] = count + 1
        lastNumber += 1
        return lastNumber
    }

    mutating func started(_ number: UInt64, _ task: Task<Void, Never>) {
        tasks[number] = task
    }

    mutating func end(_ number: UInt64, _ sender: BusName?) {
        tasks[number] = nil
        if tasks.isEmpty {
            for waiter in idleWaiters { waiter.resume() }
            idleWaiters = []
        }
        guard let count = bySender[sender] else { return }
        bySender[sender] = count > 1 ? count - 1 : nil
    }

    mutating func whenIdle(_ waiter: CheckedContinuation<Void, Never>) {
        if tasks.isEmpty { waiter.resume() } else { idleWaiters.append(waiter) }
    }

    func cancelAll() {
        for task in tasks.values { task.cancel() }
    }
}

extension Connection {
    /// Makes an object with these interfaces callable, at once; `Introspectable`, `Properties` and `Peer` come with it.
    ///
    /// More interfaces can be added to an object later; one of the same name takes the place of the earlier one.
    public func export(_ interfaces: [ExportedInterface], at path: ObjectPath) {
        objects.add(interfaces, at: path)
    }

    /// Takes an object away, with all its interfaces; calls that have begun go on.
    public func unexport(_ path: ObjectPath) {
        objects.remove(path)
    }

    /// Returns when every call of others that has arrived has its answer.
    public func waitUntilAnswered() async {
        await withCheckedContinuation { incomingCalls.whenIdle($0) }
    }

    /// Who sent a message; the bus fills it in, and without a bus it could be anything.
    func sender(of pointer: OpaquePointer) -> BusName? {
        guard uniqueName != nil else { return nil }
        return dbus_message_get_sender(pointer).map { BusName(trusted: String(cString: $0)) }
    }

    func receiveCall(_ pointer: OpaquePointer) {
        guard let path = dbus_message_get_path(pointer), let member = dbus_message_get_member(pointer) else { return }
        let sender = sender(of: pointer)
        let address = ReplyAddress(
            sender: sender,
            serial: dbus_message_get_serial(pointer),
            isExpected: dbus_message_get_no_reply(pointer) == 0
        )
        let call = IncomingCall(sender: sender, path: ObjectPath(trusted: String(cString: path)))
        let interface = dbus_message_get_interface(pointer).map { InterfaceName(trusted: String(cString: $0)) }
        let method: ExportedMethod
        switch objects.method(call.path, interface, MemberName(trusted: String(cString: member))) {
        case .success(let found): method = found
        case .failure(let error): return answer(address, with: error)
        }
        guard let number = incomingCalls.begin(sender, limits) else {
            return answer(address, with: RemoteError(.limitsExceeded, "too many calls are waiting for an answer"))
        }
        let body: ExportedMethod.Body
        do throws(DecodingError) {
            try Message.check(pointer, method.inputSignature)
            var reader = MessageReader(message: pointer, limit: limits.bodyBytes)
            body = try method.begin(&reader)
        } catch {
            incomingCalls.end(number, sender)
            return answer(address, with: error)
        }
        // Tasks of one actor start in the order in which they are made. This one prefers the loop, so that what waits in it
        // comes back in the order in which it was resumed.
        let task = Task(executorPreference: loop) { await self.run(number, body, call, address) }
        incomingCalls.started(number, task)
    }

    private func run(
        _ number: UInt64,
        _ body: ExportedMethod.Body,
        _ call: IncomingCall,
        _ address: ReplyAddress
    ) async {
        defer { incomingCalls.end(number, address.sender) }
        do {
            let output = try await body(call)
            guard address.isExpected else { return }
            try send(try Message.reply(to: address, output, limit: limits.messageBytes))
        } catch CallError.disconnected where state != .open {
            // The caller is gone with the connection.
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
            case let error as EncodingError: RemoteError(.failed, "the answer cannot be sent: \(error)")
            case CallError.notSent(let error): RemoteError(.failed, "the answer cannot be sent: \(error)")
            default: RemoteError(.failed, String(describing: error))
            }
        do {
            try send(try Message.error(to: address, answer, limit: limits.messageBytes))
        } catch {
            // The connection has ended, or there is no memory for an answer; the caller's own time limit tells it.
        }
    }
}
