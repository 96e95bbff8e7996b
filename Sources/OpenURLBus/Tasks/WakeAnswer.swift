internal import DBus

/// A handler's answer to ``HandlerInterface/wake``.
public struct WakeAnswer: Sendable, Hashable {
    /// How the task went, if the handler was woken for one. An absent result means that the task is done, and an unknown
    /// word that it has failed.
    public var result = Reported<TaskResult>.absent

    /// Creates an answer without values.
    public init() {}
}

extension WakeAnswer: Record {
    package static let fields = FieldList(
        initial: WakeAnswer(),
        Field(
            "result",
            { $0.result },
            { $0.result = $1 },
            omitting: .absent,
            "How the task went; without the key, it is done, and any other word is an error."
        )
    )
}
