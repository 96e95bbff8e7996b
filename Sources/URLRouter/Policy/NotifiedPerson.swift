internal import DBus
internal import Reactor

/// Asks the user with a notification that has actions: `org.freedesktop.Notifications`.
struct NotifiedPerson: PersonAsking {
    let connection: Connection
    /// Whether the bus may start the service.
    let mayStart: Bool

    private static let name: BusName = "org.freedesktop.Notifications"
    private static let interface: InterfaceName = "org.freedesktop.Notifications"
    private static let object = RemoteObject(name, "/org/freedesktop/Notifications")
    private static let capabilities = Method<Empty, [String]>(interface, "GetCapabilities")
    private static let notify = Method<
        Arguments<String, UInt32, String, String, String, [String], [String: Value], Int32>, UInt32
    >(interface, "Notify")
    private static let close = Method<UInt32, Empty>(interface, "CloseNotification")
    private static let invoked = Signal<Arguments<UInt32, String>>(interface, "ActionInvoked")
    private static let closed = Signal<Arguments<UInt32, UInt32>>(interface, "NotificationClosed")
    /// Time limit for each call to the service.
    private static let callTimeout = Duration.seconds(5)

    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? {
        do throws(CallError) {
            guard try await connection.canReach(Self.name, starting: mayStart) else { return nil }
            let capabilities = try await connection.call(
                Self.capabilities,
                on: Self.object,
                Empty(),
                timeout: Self.callTimeout
            )
            guard capabilities.contains("actions") else { return nil }
            return try await ask(dialog, hasMarkup: capabilities.contains("body-markup"), within: time)
        } catch {
            return nil
        }
    }

    private func ask(
        _ dialog: PolicyDialog,
        hasMarkup: Bool,
        within time: Duration
    ) async throws(CallError) -> PersonReply {
        // These signals may come before the answer to the call that makes the notification.
        let rule = MatchRule(sender: Self.name)
        let invoked = try await connection.signals(Self.invoked, matching: rule)
        let closed = try await connection.signals(Self.closed, matching: rule)
        let plain = "\(dialog.text)\n\(dialog.shownURL)"
        let choices = PersonReply.choices(isMemorable: dialog.isMemorable)
        let id = try await connection.call(
            Self.notify,
            on: Self.object,
            Arguments(
                "openurl",
                0,
                "dialog-question",
                dialog.title,
                hasMarkup ? DialogProgram.markup(plain) : plain,
                choices.flatMap { [$0.rawValue, $0.label] },
                ["urgency": .byte(2)],
                0
            ),
            timeout: Self.callTimeout
        )
        let (replies, continuation) = AsyncStream<PersonReply>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let waiting = [
            Task(executorPreference: connection.loop) {
                for await signal in invoked where signal.body.values.0 == id {
                    continuation.yield(choices.first { $0.rawValue == signal.body.values.1 } ?? .no)
                }
                continuation.finish()
            },
            Task(executorPreference: connection.loop) {
                for await signal in closed where signal.body.values.0 == id { continuation.yield(.no) }
            },
        ]
        let timer = connection.loop.schedule(at: .now + time) { continuation.yield(.late) }
        // If the task is cancelled, the stream ends without an element.
        let reply = await replies.first { _ in true } ?? (Task.isCancelled ? .late : .no)
        connection.loop.cancelTimer(timer)
        for task in waiting { task.cancel() }
        if reply == .late { try await connection.send(Self.close, on: Self.object, id) }
        return reply
    }
}
