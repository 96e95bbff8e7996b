internal import Reactor

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
        let number = pendingCalls.nextNumber()
        // Let go of the message once it has been sent: it holds duplicates of the descriptors in `input`, which would
        // otherwise stay open until the answer.
        let message = UnsentMessage(try .call(method, on: object, input, limit: limits.callSize))
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
    func begin(
        _ message: WrittenMessage,
        _ destination: BusName?,
        _ number: UInt64,
        _ timeout: Duration?,
        _ complete: @escaping (Result<Message, CallError>) -> Void
    ) {
        let serial: UInt32?
        if let destination { CalledNames.follow(destination, on: self) }
        do throws(CallError) {
            serial = try transmit(message)
        } catch {
            if let destination { pendingCalls.names.endCall(of: destination) }
            return complete(.failure(error))
        }
        let timer = timeout.map { timeout in
            loop.schedule(at: .now + min(timeout, .longest)) { self.assumeIsolated { $0.fail(number, .timedOut) } }
        }
        let call = PendingCall(
            destination: destination,
            timer: timer,
            unsent: serial == nil ? message : nil,
            serial: serial,
            complete: complete
        )
        pendingCalls.add(call, as: number)
        if serial == nil { outgoing.enqueue(.call(number)) }
    }

    /// Ends a call that has no answer.
    func fail(_ number: UInt64, _ error: CallError) {
        guard let call = pendingCalls.remove(number) else { return }
        if call.unsent != nil { outgoing.abandonCall { pendingCalls.contains($0) } }
        call.complete(.failure(error))
    }

    /// Calls a method without asking for an answer.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``. You cannot find out whether the call arrived.
    public func send<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) {
        var message = try WrittenMessage.call(method, on: object, input, limit: limits.callSize)
        message.expectNoAnswer()
        try send(message)
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
        if let destination, server.dropsSignals(to: destination, on: self) { return false }
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
        try send(message, to: destination)
        return true
    }

    // MARK: Receiving

    /// Handles a message that has arrived. A message of an unknown type is ignored.
    func receive(_ message: Message) {
        // Without a bus, only this program names the other end.
        let sender = uniqueName == nil ? peerName : message.sender
        switch message.kind {
        case .methodReturn, .error:
            if let call = pendingCalls.remove(answeredBy: message) { call.complete(.success(message)) }
        case .methodCall:
            // While the connection is closing, drop calls that have not begun.
            if state == .open { server.receive(message, from: sender, on: self) }
        case .signal:
            guard state == .open else { return }
            if let change = BusDriver.ownerChange(message) { nameOwnerChanged(change.name, change.old, change.new) }
            subscriptions.deliver(message, from: sender)
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
