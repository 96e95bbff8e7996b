internal import DBus

/// The desktop's service for notifications: `org.freedesktop.Notifications` (Desktop Notifications Specification 1.2).
struct NotificationService: Sendable {
    let connection: Connection
    /// The connection that owns the service's name. Another one would not know the notifications.
    let owner: BusName

    private static let name: BusName = "org.freedesktop.Notifications"
    private static let interface: InterfaceName = "org.freedesktop.Notifications"
    private static let capabilities = Method<Empty, [String]>(interface, "GetCapabilities")
    private static let notify = Method<
        Arguments<String, UInt32, String, String, String, [String], [String: Value], Int32>, UInt32
    >(interface, "Notify")
    private static let close = Method<UInt32, Empty>(interface, "CloseNotification")
    private static let invoked = Signal<Arguments<UInt32, String>>(interface, "ActionInvoked")
    private static let closed = Signal<Arguments<UInt32, UInt32>>(interface, "NotificationClosed")
    private static let token = Signal<Arguments<UInt32, String>>(interface, "ActivationToken")
    /// Time limit for each call to the service.
    private static let callTimeout = Duration.seconds(5)
    /// Time limit for showing a notification. After it, the notification is shown again, so a slow service gets more time.
    private static let showTimeout = Duration.seconds(25)

    /// One notification.
    struct Notification: Sendable {
        let icon: String
        /// The title, which is never markup.
        let title: String
        /// The text, which is not markup either.
        let text: String
        /// The user's choices: the identifier and the label of each action.
        let actions: [(id: String, label: String)]
        let urgency: Urgency

        enum Urgency: UInt8, Sendable { case low, normal, critical }
    }

    /// Finds the service; nil if there is none.
    ///
    /// - Parameter starting: Whether the bus may start it.
    static func find(among services: ServiceOwners, starting: Bool) async throws(CallError) -> NotificationService? {
        let owner = try await services.owner(of: name, starting: starting, within: callTimeout)
        return owner.map { NotificationService(connection: services.connection, owner: $0) }
    }

    private var object: RemoteObject { RemoteObject(owner, "/org/freedesktop/Notifications") }

    /// Returns what the service can do, such as `actions` and `body-markup`.
    func capabilities() async throws(CallError) -> [String] {
        try await connection.call(Self.capabilities, on: object, Empty(), timeout: Self.callTimeout)
    }

    /// Shows a notification until the user closes it. Returns its number.
    ///
    /// - Parameter capabilities: What the service can do. It takes the text for markup only if it can show markup.
    func show(_ notification: Notification, _ capabilities: [String]) async throws(CallError) -> UInt32 {
        let input = Arguments(
            "openurl",
            0 as UInt32,
            notification.icon,
            notification.title,
            capabilities.contains("body-markup") ? DialogProgram.markup(notification.text) : notification.text,
            notification.actions.flatMap { [$0.id, $0.label] },
            ["urgency": Value.byte(notification.urgency.rawValue)],
            0 as Int32
        )
        return try await connection.call(Self.notify, on: object, input, timeout: Self.showTimeout)
    }

    /// Takes a notification off the screen.
    func close(_ id: UInt32) async throws(CallError) {
        try await connection.send(Self.close, on: object, id)
    }

    /// The signals of the service.
    struct Signals: Sendable {
        /// The user has chosen an action of a notification.
        let invoked: SignalSequence<Arguments<UInt32, String>>
        /// A notification is no longer on the screen.
        let closed: SignalSequence<Arguments<UInt32, UInt32>>
        /// The token that lets the program behind the next action take the focus.
        let tokens: SignalSequence<Arguments<UInt32, String>>
    }

    /// Returns the signals from now on. They may come before the answer to the call that shows the notification.
    func signals() async throws(CallError) -> Signals {
        let rule = MatchRule(sender: owner)
        return Signals(
            invoked: try await connection.signals(Self.invoked, matching: rule),
            closed: try await connection.signals(Self.closed, matching: rule),
            tokens: try await connection.signals(Self.token, matching: rule)
        )
    }
}
