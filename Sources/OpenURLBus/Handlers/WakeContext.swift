public import DBus

/// Why the router launches or wakes a handler without a URL, and what belongs to the reason: the `context` of
/// ``HandlerInterface/wake``.
public struct WakeContext: Sendable, Hashable {
    /// The reason. Treat a word that you do not know like ``LaunchReason/message``.
    public var reason: Reported<LaunchReason>
    /// The latest value of each kind of change that the handler does not know about yet.
    public var notifications: [String: Value] = [:]
    /// The push, if the reason is one. If the handler answers ``HandlerInterface/wake`` with an error, it has refused
    /// the push.
    public var push: RemoteNotification?
    /// The handler's own notification, if the reason is one.
    public var localNotification: LocalNotification?
    /// The name of the task, if the reason is one. ``WakeAnswer/result`` says how it went; an error means that it has
    /// failed.
    public var task: String?

    /// Creates a context.
    public init(_ reason: Reported<LaunchReason> = .absent) {
        self.reason = reason
    }
}

extension WakeContext: Record {
    package static let fields = FieldList(
        initial: WakeContext(),
        Field(
            "reason",
            { $0.reason },
            { $0.reason = $1 },
            omitting: .absent,
            "Why the router launches or wakes the handler."
        ),
        Field(
            "notifications",
            { $0.notifications },
            { $0.notifications = $1 },
            omitting: [:],
            "The latest value of each kind of change that the handler does not know about yet."
        ),
        Field("push", { $0.push }, { $0.push = $1 }, "The push, if the reason is one."),
        Field(
            "local-notification",
            { $0.localNotification },
            { $0.localNotification = $1 },
            "The handler's own notification, if the reason is one."
        ),
        Field("task", { $0.task }, { $0.task = $1 }, "The name of the task, if the reason is one.")
    )
}
