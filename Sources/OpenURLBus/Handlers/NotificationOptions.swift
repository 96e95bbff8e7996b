internal import DBus

/// The options of ``LifecycleInterface/notifyWithOptions``.
public struct NotificationOptions: Sendable, Hashable {
    /// Whether the notification launches or wakes the handler.
    public var wakes = false

    /// Creates options that wake nothing.
    public init() {}
}

extension NotificationOptions: Record {
    package static let fields = FieldList(
        initial: NotificationOptions(),
        Field(
            "wake",
            { $0.wakes },
            { $0.wakes = $1 },
            omitting: false,
            "Whether the notification launches or wakes the handler."
        )
    )
}
