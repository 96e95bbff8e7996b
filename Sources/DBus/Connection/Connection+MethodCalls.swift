internal import CDBus
internal import Reactor

/// A call of this connection that waits for its answer.
struct PendingCall {
    let destination: BusName?
    let timer: TimerID?
    /// The message of the call while it waits in the queue; nil once it has been sent.
    var unsent: Message?
    /// Takes the answer, or the error. The code that removes the entry calls this closure, exactly once.
    let complete: (Result<LibraryPointer, CallError>) -> Void
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
    ///   - timeout: The time limit; by D-Bus's custom 25 s. Nil waits until the other end answers or goes away.
    /// - Returns: The results of the method.
    /// - Throws: ``CallError``. If the task is cancelled, the call fails at once, but the other end may still act on
    ///   the call.
    @discardableResult
    public func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) -> Output {
        let message = try methodCall(method, on: object, input)
        let destination = object.destination
        let serial = nextSerial()
        // A resumed task first goes to the executor that it prefers, and from there to its actor. If the preferred
        // executor is not the loop, the way to the actor leads through another thread, and tasks may overtake each
        // other.
        let result: Result<Output, CallError> = await withTaskExecutorPreference(loop) {
            await withTaskCancellationHandler {
                await answer(to: message, destination, serial, timeout)
            } onCancel: {
                loop.execute { self.assumeIsolated { $0.fail(serial, .cancelled) } }
            }
        }
        return try result.get()
    }

    /// Sends a call and waits for its answer.
    private func answer<Output: MessageBody>(
        to message: Message,
        _ destination: BusName?,
        _ serial: UInt32,
        _ timeout: Duration?
    ) async -> Result<Output, CallError> {
        await withCheckedContinuation { continuation in
            // The closure runs as one step on the loop's thread, so neither an answer nor a cancellation can arrive
            // before the entry in `pendingCalls` exists.
            if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
            let isSent: Bool
            do throws(CallError) {
                isSent = try transmit(message, as: serial)
            } catch {
                return continuation.resume(returning: .failure(error))
            }
            if !isSent { queue.append(callWith: serial) }
            let timer = timeout.map { timeout in
                loop.schedule(at: .now + min(timeout, .longest)) {
                    self.assumeIsolated { $0.fail(serial, .timedOut) }
                }
            }
            pendingCalls[serial] = PendingCall(
                destination: destination,
                timer: timer,
                unsent: isSent ? nil : message
            ) { [limits] reply in
                continuation.resume(returning: reply.flatMap { Message.result($0.pointer, limit: limits.messageBytes) })
            }
        }
    }

    /// Ends a call without an answer.
    func fail(_ serial: UInt32, _ error: CallError) {
        guard let call = pendingCalls.removeValue(forKey: serial) else { return }
        if let timer = call.timer { loop.cancelTimer(timer) }
        if call.unsent != nil { queue.abandonCall { pendingCalls[$0] != nil } }
        call.complete(.failure(error))
    }

    /// Calls a method without asking for an answer.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``. There is no way to learn whether the call
    ///   arrived.
    public func send<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) {
        let message = try methodCall(method, on: object, input)
        dbus_message_set_no_reply(message.pointer, 1)
        try send(message)
    }

    private func methodCall<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> Message {
        do throws(MessageEncodingError) {
            return try .methodCall(method.interface, method.name, on: object, input, limit: limits.messageBytes)
        } catch {
            throw .notSent(error)
        }
    }

    /// Emits a signal to all subscribers.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``.
    public func emit<Body: MessageBody>(
        _ signal: Signal<Body>,
        from path: ObjectPath,
        _ body: Body
    ) throws(CallError) {
        let message: Message
        do throws(MessageEncodingError) {
            message = try .signal(signal.interface, signal.name, from: path, body, limit: limits.messageBytes)
        } catch {
            throw .notSent(error)
        }
        try send(message)
    }

    /// The number of calls that wait for their answer.
    var callsInFlight: Int { pendingCalls.count }

    // MARK: Receiving

    /// Handles a message that has arrived.
    ///
    /// - Returns: Whether the message needs no further handling by libdbus.
    func receive(_ message: LibraryPointer) -> Bool {
        let pointer = message.pointer
        switch dbus_message_get_type(pointer) {
        case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR:
            let serial = dbus_message_get_reply_serial(pointer)
            guard let call = pendingCalls[serial],
                Message.isAnswer(pointer, from: call.destination, onBus: uniqueName != nil)
            else { return false }
            pendingCalls[serial] = nil
            if let timer = call.timer { loop.cancelTimer(timer) }
            call.complete(.success(message))
            return true
        case DBUS_MESSAGE_TYPE_METHOD_CALL:
            // When the connection is ending, a call that has not begun is dropped.
            if state == .open { receiveCall(pointer) }
            return true
        case DBUS_MESSAGE_TYPE_SIGNAL:
            if dbus_message_is_signal(pointer, DBUS_INTERFACE_LOCAL, "Disconnected") != 0 {
                disconnect(.disconnected)
            } else if state == .open {
                receiveSignal(pointer)
            }
            return true
        default:
            return false
        }
    }
}

extension Message {
    /// Whether an answer comes from the called connection, or from the bus on its behalf.
    ///
    /// The check is necessary because a session bus delivers answers that were never requested. An answer from a
    /// well-known name is not checked, because its owner is not known here.
    static func isAnswer(_ pointer: OpaquePointer, from destination: BusName?, onBus: Bool) -> Bool {
        guard onBus, let destination, destination.isUnique || destination == .bus else { return true }
        let sender = dbus_message_get_sender(pointer).map { String(cString: $0) }
        return sender == destination.rawValue || sender == BusName.bus.rawValue
    }
}
