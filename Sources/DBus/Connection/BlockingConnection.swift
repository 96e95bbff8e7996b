internal import CDBus
internal import Glibc

/// A connection for a program that makes a call and ends: everything happens on the calling thread.
///
/// Neither the event loop nor Swift's concurrency runtime is started, which is most of what a short program would
/// otherwise spend its time on. It cannot export anything.
public final class BlockingConnection {
    /// Nil once it is another's.
    private var raw: OpaquePointer?
    private let isOnBus: Bool
    private var uniqueName: BusName?
    private var serials = Serials()
    /// Who was called, by the call's serial.
    private var calls: [UInt32: BusName?] = [:]
    private var answers: [UInt32: Message] = [:]

    /// Connects to a bus, blocking the thread.
    ///
    /// - Parameter timeout: how long the bus may take to say hello. The time that it takes to accept a connection is the
    ///   kernel's: a bus that is stopped while more wait for it than it has room for keeps the thread waiting.
    /// - Throws: ``ConnectionError`` with libdbus's own words, or ``ConnectionError/timedOut``.
    public convenience init(
        _ address: BusAddress = .session,
        timeout: Duration = .seconds(25)
    ) throws(ConnectionError) {
        try self.init(try connect(to: address.text), isOnBus: true)
        uniqueName = try introduce { () throws(CallError) in
            let name = BusName(try call(BusDriver.hello, on: BusDriver.object, Empty(), timeout: timeout))
            guard let name, name.isUnique else { throw .unexpectedReply(.invalidValue("not a unique name")) }
            return name
        }
    }

    /// Connects to a program that listens without a bus, and waits until the two know each other.
    convenience init(peer address: String, timeout: Duration) throws(ConnectionError) {
        try self.init(try connect(to: address), isOnBus: false)
        // A program that `unixexec:` started is this user's anyway, and its end of the socket was made here.
        if let raw, let peer = Credentials(of: raw), peer.uid != getuid() {
            throw ConnectionError(reason: "the socket belongs to another user")
        }
        try introduce { () throws(CallError) in
            do throws(CallError) {
                try call(PeerInterface.ping, on: RemoteObject(nil, "/"), Empty(), timeout: timeout)
            } catch .remote {
                // Whatever it answers, it has let this program in.
            }
        }
    }

    private init(_ raw: OpaquePointer, isOnBus: Bool) throws(ConnectionError) {
        self.raw = raw
        self.isOnBus = isOnBus
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        guard dbus_connection_add_filter(raw, takeAnswer, pointer, nil) != 0 else { throw .outOfMemory }
    }

    deinit {
        guard let raw else { return }
        dbus_connection_close(raw)
        dbus_connection_unref(raw)
    }

    /// Makes the first call, without which there is no connection.
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

    /// Gives libdbus's connection to somebody else.
    consuming func handOver() -> EstablishedConnection? {
        guard let raw else { return nil }
        dbus_connection_remove_filter(raw, takeAnswer, Unmanaged.passUnretained(self).toOpaque())
        self.raw = nil
        return EstablishedConnection(raw: raw, uniqueName: uniqueName)
    }

    /// Calls a method and blocks the thread until it answers.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait; nil waits until the other end answers or goes away.
    ///   - noticeDelay: after this time without an answer, `notice` is called, once.
    ///   - notice: tells a person that it takes longer; it may call this connection.
    @discardableResult
    public func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        timeout: Duration? = .seconds(25),
        noticeAfter noticeDelay: Duration = .zero,
        notice: (() -> Void)? = nil
    ) throws(CallError) -> Output {
        let start = ContinuousClock.now
        let serial = try send(method, on: object, input)
        defer {
            calls[serial] = nil
            answers[serial] = nil
        }
        if let notice {
            if try !wait(for: serial, until: start + min(noticeDelay, timeout ?? .longest, .longest)) { notice() }
        }
        guard try wait(for: serial, until: timeout.map { start + min($0, .longest) }), let answer = answers[serial]
        else {
            throw .timedOut
        }
        return try answer.result().get()
    }

    /// - Returns: the serial of the call.
    private func send<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> UInt32 {
        let message: Message
        do throws(MessageEncodingError) {
            message = try .methodCall(
                method.interface,
                method.name,
                on: object,
                input,
                limit: ConnectionLimits().messageBytes
            )
        } catch {
            throw .notSent(error)
        }
        guard let raw, dbus_connection_get_is_connected(raw) != 0 else { throw .disconnected }
        if dbus_message_contains_unix_fds(message.pointer) != 0,
            dbus_connection_can_send_type(raw, TypeCode.unixFD) == 0
        {
            throw .notSent(.descriptorNotPassed)
        }
        let serial = serials.next()
        dbus_message_set_serial(message.pointer, serial)
        guard dbus_connection_send(raw, message.pointer, nil) != 0 else { throw .notSent(.outOfMemory) }
        calls[serial] = .some(object.destination)
        return serial
    }

    /// - Returns: whether the answer came in time.
    private func wait(for serial: UInt32, until deadline: ContinuousClock.Instant?) throws(CallError) -> Bool {
        while answers[serial] == nil {
            var milliseconds: CInt = -1
            if let deadline {
                let left = ContinuousClock.now.duration(to: deadline)
                if left <= .zero { return false }
                milliseconds = CInt(
                    clamping: left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
                )
            }
            if dbus_connection_read_write_dispatch(raw, milliseconds) == 0, answers[serial] == nil {
                throw .disconnected
            }
        }
        return true
    }

    /// - Returns: whether the message answers one of the calls.
    fileprivate func take(_ message: OpaquePointer) -> Bool {
        switch dbus_message_get_type(message) {
        case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR:
            let serial = dbus_message_get_reply_serial(message)
            guard let destination = calls[serial], answers[serial] == nil,
                Message.isAnswer(message, from: destination, onBus: isOnBus)
            else { return false }
            answers[serial] = Message(owning: dbus_message_ref(message))
            return true
        default: return false
        }
    }
}

private let takeAnswer: DBusHandleMessageFunction = { _, message, data in
    guard let message, let data else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
    let connection = Unmanaged<BlockingConnection>.fromOpaque(data).takeUnretainedValue()
    return connection.take(message) ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED
}
