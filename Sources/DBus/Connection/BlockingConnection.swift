internal import CDBus
internal import Glibc

/// A connection for a program that makes a call and ends: everything happens on the calling thread.
///
/// Neither the event loop nor Swift's concurrency runtime is started, which is most of what a short program would
/// otherwise spend its time on. It cannot export anything.
public final class BlockingConnection {
    private let raw: OpaquePointer

    /// Connects to a bus, blocking the thread.
    public init(_ address: BusAddress = .session) throws(ConnectionError) {
        raw = try address.connect()
    }

    deinit {
        dbus_connection_close(raw)
        dbus_connection_unref(raw)
    }

    /// Calls a method and blocks the thread until it answers.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait; nil waits until the other end answers or goes away.
    ///   - noticeDelay: after this time without an answer, `notice` is called, once.
    ///   - notice: tells a person that it takes longer; it may call this connection.
    public func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        timeout: Duration? = .seconds(25),
        noticeAfter noticeDelay: Duration = .zero,
        notice: (() -> Void)? = nil
    ) throws(CallError) -> Output {
        let message: Message
        do throws(EncodingError) {
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
        if dbus_message_contains_unix_fds(message.pointer) != 0,
            dbus_connection_can_send_type(raw, TypeCode.unixFD) == 0
        {
            throw .notSent(.descriptorNotPassed)
        }
        var call: OpaquePointer?
        let isSent = dbus_connection_send_with_reply(raw, message.pointer, &call, CInt.max) != 0
        // Without a connection libdbus says yes and makes no pending call.
        guard isSent, let call else { throw .disconnected }
        defer { dbus_pending_call_unref(call) }

        let start = ContinuousClock.now
        let deadline = timeout.map { start + min($0, .longest) }
        if let notice {
            if wait(for: call, until: start + min(noticeDelay, timeout ?? .longest, .longest)) == .late { notice() }
        }
        switch wait(for: call, until: deadline) {
        case .late:
            dbus_pending_call_cancel(call)
            throw .timedOut
        case .disconnected: throw .disconnected
        case .answered:
            guard let reply = dbus_pending_call_steal_reply(call) else { throw .disconnected }
            return try Message(owning: reply).result().get()
        }
    }

    private enum Wait {
        case answered, late, disconnected
    }

    private func wait(for call: OpaquePointer, until deadline: ContinuousClock.Instant?) -> Wait {
        while dbus_pending_call_get_completed(call) == 0 {
            var milliseconds: CInt = -1
            if let deadline {
                let left = ContinuousClock.now.duration(to: deadline)
                if left <= .zero { return .late }
                milliseconds = CInt(
                    clamping: left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
                )
            }
            if dbus_connection_read_write_dispatch(raw, milliseconds) == 0,
                dbus_pending_call_get_completed(call) == 0
            {
                return .disconnected
            }
        }
        return .answered
    }
}
