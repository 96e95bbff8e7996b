internal import Reactor

/// One of this connection's calls, which is waiting for its answer.
struct PendingCall {
    let destination: BusName?
    let timer: TimerID?
    /// The call's message while it waits in the queue; nil once it has been sent.
    var unsent: WrittenMessage?
    /// The call's serial; nil while it waits in the queue.
    var serial: UInt32?
    /// Takes the answer or the error. The code that removes the entry calls this closure, exactly once.
    let complete: (Result<Message, CallError>) -> Void
}

extension Connection {
    /// Calls a method and waits for its answer.
    ///
    /// Calls that one task makes to one destination arrive there in order.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - object: The object that has the method.
    ///   - input: The arguments.
    ///   - timeout: The time limit: by default 25 s, as is usual for D-Bus. Nil waits until the other end answers or
    ///     goes away.
    /// - Returns: The method's results.
    /// - Throws: ``CallError``. If the task is cancelled, the call fails at once, but the other end may still act on
    ///   it.
    @discardableResult
    public func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) -> Output {
        let number = nextCall()
        // Let go of the message once it has been sent: it holds duplicates of the descriptors in `input`, which would
        // otherwise stay open until the answer.
        let message = UnsentMessage(try methodCall(method, on: object, input))
        let destination = object.destination
        // A resumed task goes to the executor that it prefers first, and from there to its actor. If it preferred an
        // executor other than the loop, it would pass through another thread on the way, and tasks could overtake each
        // other.
        let result: Result<Output, CallError> =
            if loop.isPreferredByCurrentTask {
                await answer(to: message, destination, number, timeout)
            } else {
                await withTaskExecutorPreference(loop) {
                    await answer(to: message, destination, number, timeout)
                }
            }
        return try result.get()
    }

    /// Sends a call, and waits until its answer arrives or the task is cancelled.
    private func answer<Output: MessageBody>(
        to message: UnsentMessage,
        _ destination: BusName?,
        _ number: UInt64,
        _ timeout: Duration?
    ) async -> Result<Output, CallError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // This closure runs as one step on the loop's thread, so neither an answer nor a cancellation can arrive
                // before the entry in `pendingCalls` exists.
                guard !Task.isCancelled, let message = message.take() else {
                    return continuation.resume(returning: .failure(.cancelled))
                }
                begin(message, destination, number, timeout) { [limits] reply in
                    continuation.resume(returning: reply.flatMap { $0.result(limit: limits.messageBytes) })
                }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.fail(number, .cancelled) } }
        }
    }

    /// Sends a call, or puts it into the queue.
    ///
    /// - Parameter complete: Called once, with the answer or the error.
    private func begin(
        _ message: WrittenMessage,
        _ destination: BusName?,
        _ number: UInt64,
        _ timeout: Duration?,
        _ complete: @escaping (Result<Message, CallError>) -> Void
    ) {
        let serial: UInt32?
        if let destination { follow(destination) }
        do throws(CallError) {
            serial = try transmit(message)
        } catch {
            if let destination { calledNames.endCall(of: destination) }
            return complete(.failure(error))
        }
        let timer = timeout.map { timeout in
            loop.schedule(at: .now + min(timeout, .longest)) { self.assumeIsolated { $0.fail(number, .timedOut) } }
        }
        pendingCalls[number] = PendingCall(
            destination: destination,
            timer: timer,
            unsent: serial == nil ? message : nil,
            serial: serial,
            complete: complete
        )
        if let serial { sentCalls[serial] = number } else { queue.append(call: number) }
    }

    func markSent(_ number: UInt64, as serial: UInt32) {
        pendingCalls[number]?.unsent = nil
        pendingCalls[number]?.serial = serial
        sentCalls[serial] = number
    }

    /// Ends a call that has no answer.
    func fail(_ number: UInt64, _ error: CallError) {
        guard let call = removeCall(number) else { return }
        if call.unsent != nil { queue.abandonCall { pendingCalls[$0] != nil } }
        call.complete(.failure(error))
    }

    private func removeCall(_ number: UInt64) -> PendingCall? {
        guard let call = pendingCalls.removeValue(forKey: number) else { return nil }
        if let serial = call.serial { sentCalls[serial] = nil }
        if let timer = call.timer { loop.cancelTimer(timer) }
        if let destination = call.destination { calledNames.endCall(of: destination) }
        return call
    }

    /// Records a call to a name. If the call is the first, asks the bus for the name's owner and for changes of owner.
    private func follow(_ name: BusName) {
        guard uniqueName != nil, name.changesOwner, calledNames.beginCall(of: name) else { return }
        let rule = BusDriver.ownerRule(name)
        request(BusDriver.addMatch, rule) { connection, added in
            // Without the rule, this connection would ignore the answers of a later owner.
            if case .failure(let error) = added { connection.failCalls(of: name, error) }
        }
        request(BusDriver.getNameOwner, name.rawValue) { connection, owner in
            switch owner {
            case .success(let owner): connection.calledNames.setOwner(of: name, BusName(owner))
            // Once the service runs, the bus reports its owner.
            case .failure(.remote(let error)) where error.name == .nameHasNoOwner: break
            case .failure(let error):
                connection.removeOwnerRule(of: name)
                connection.failCalls(of: name, error)
            }
        }
        if let idle = calledNames.popIdle() { removeOwnerRule(of: idle) }
    }

    private func removeOwnerRule(of name: BusName) {
        do throws(CallError) {
            try send(BusDriver.removeMatch, on: BusDriver.object, BusDriver.ownerRule(name))
        } catch {
            // The connection has ended, and the bus has removed its rules.
        }
    }

    /// Calls one of the bus's methods ahead of other calls, without suspending the caller.
    private func request<Output: MessageBody>(
        _ method: Method<String, Output>,
        _ input: String,
        _ complete: @escaping @Sendable (isolated Connection, Result<Output, CallError>) -> Void
    ) {
        do throws(CallError) {
            let message = try methodCall(method, on: BusDriver.object, input)
            begin(message, .bus, nextCall(), nil) { [limits] answer in
                let result: Result<Output, CallError> = answer.flatMap { $0.result(limit: limits.messageBytes) }
                self.assumeIsolated { complete($0, result) }
            }
        } catch {
            complete(self, .failure(error))
        }
    }

    private func failCalls(of name: BusName, _ error: CallError) {
        calledNames.remove(name)
        for (number, call) in pendingCalls where call.destination == name { fail(number, error) }
    }

    /// Calls a method without asking for an answer.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``. You cannot find out whether the call arrived.
    public func send<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) {
        var message = try methodCall(method, on: object, input)
        message.expectNoAnswer()
        try send(message)
    }

    private func methodCall<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> WrittenMessage {
        do throws(MessageEncodingError) {
            return try .methodCall(method, on: object, input, limit: limits.callSize)
        } catch {
            throw .notSent(error)
        }
    }

    /// Emits a signal to all subscribers, or to one connection.
    ///
    /// If it is for one connection whose program does not read, it is dropped (``ConnectionLimits/unreadAnswerBytes``,
    /// and without a bus, ``ConnectionLimits/unreadBytes``).
    ///
    /// - Returns: False if the signal was dropped.
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``.
    @discardableResult
    public func emit<Body: MessageBody>(
        _ signal: Signal<Body>,
        from path: ObjectPath,
        to destination: BusName? = nil,
        _ body: Body
    ) throws(CallError) -> Bool {
        if let destination, dropsSignals(to: destination) { return false }
        let message: WrittenMessage
        do throws(MessageEncodingError) {
            message = try .signal(
                signal.interface,
                signal.name,
                from: path,
                to: destination,
                body,
                limit: limits.messageBytes
            )
        } catch {
            throw .notSent(error)
        }
        try send(message)
        countSent(message, to: destination)
        return true
    }

    /// Number of calls that are waiting for their answers.
    var callsInFlight: Int { pendingCalls.count }

    // MARK: Receiving

    /// Handles a message that has arrived. A message of an unknown type is ignored.
    func receive(_ message: Message) {
        switch message.kind {
        case .methodReturn, .error:
            guard let number = sentCalls[message.replySerial], let sent = pendingCalls[number],
                uniqueName == nil || calledNames.isAnswer(message, to: sent.destination),
                let call = removeCall(number)
            else { return }
            call.complete(.success(message))
        case .methodCall:
            // While the connection is closing, drop calls that have not begun.
            if state == .open { receiveCall(message) }
        case .signal:
            if state == .open { receiveSignal(message) }
        case nil: break
        }
    }
}

/// A message that can be handed on once.
private final class UnsentMessage {
    private var message: WrittenMessage?

    init(_ message: WrittenMessage) {
        self.message = message
    }

    func take() -> WrittenMessage? { message.take() }
}
