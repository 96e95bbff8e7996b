internal import DBus

/// The options of ``TasksInterface/schedule``. An unknown key is an error.
public struct TaskOptions: Sendable, Hashable {
    /// The time from now until the task may run at the earliest, in milliseconds; at most 366 days. By default it is zero,
    /// or the interval of a repeated task.
    public var delay: UInt64?
    /// The time between two runs of a repeated task, in milliseconds: at least a minute, and at most 366 days. It is nil
    /// for a task that runs once.
    public var interval: UInt64?
    /// The conditions that must hold when the task begins.
    public var requirements: [TaskRequirement] = []

    /// Creates options for a task that runs once, as soon as possible.
    public init() {}
}

extension TaskOptions: Record {
    package static let fields = FieldList(
        initial: TaskOptions(),
        // A misspelt time would make the task run at once, and only once.
        ignoresUnknown: false,
        Field(
            "after",
            { $0.delay },
            { $0.delay = $1 },
            "The time from now until the task may run at the earliest, in milliseconds."
        ),
        Field(
            "interval",
            { $0.interval },
            { $0.interval = $1 },
            "The time between two runs, in milliseconds; without the key, the task runs once."
        ),
        Field(
            "requiring",
            { $0.requirements },
            { $0.requirements = $1 },
            omitting: [],
            "The conditions that must hold when the task begins."
        )
    )
}
