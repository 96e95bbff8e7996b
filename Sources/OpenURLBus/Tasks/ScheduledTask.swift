public import DBus

/// A task of a handler, as ``TasksInterface/list`` returns it.
public struct ScheduledTask: Sendable, Hashable {
    /// A task's states.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Its time has not come.
        case scheduled
        /// Its time has come, and it waits for its conditions, for another task, or for the end of a quarantine.
        case waiting
        /// The handler has it, or is being started for it.
        case running
    }

    /// The handler's bundle identifier.
    public var handler: String
    /// The handler's name for the task.
    public var name: String
    /// When the task may run at the earliest, in milliseconds since 1970.
    public var next: UInt64
    /// The time until which the router may wait for other tasks, in milliseconds since 1970.
    public var latest: UInt64
    /// The time between two runs, in milliseconds; nil if the task runs once.
    public var interval: UInt64?
    /// The time between two runs of a fetch that has not brought new data lately, in milliseconds; nil if it is
    /// ``interval``.
    public var stretchedInterval: UInt64?
    /// The conditions that must hold when the task begins.
    public var requirements: [TaskRequirement] = []
    /// The number of attempts that have failed since the task was last done.
    public var failures: UInt32 = 0
    /// The task's state.
    public var state = Reported<State>.known(.scheduled)
    /// The conditions that the task waits for now.
    public var unmet: [TaskRequirement] = []
    /// Why the last attempt failed.
    public var error: RemoteError? {
        get { errorFields.error.map(RemoteError.init) }
        set { errorFields.error = newValue.map(ErrorFields.NamedError.init) }
    }

    package var errorFields = ErrorFields()

    /// Creates a task that runs once, as soon as the time has come.
    public init(handler: String, name: String, next: UInt64) {
        self.handler = handler
        self.name = name
        self.next = next
        latest = next
    }
}

extension ScheduledTask: Record, ErrorReporting {
    package static let fields = FieldList(
        initial: ScheduledTask(handler: "", name: "", next: 0),
        incomplete: "a task without a handler, a name or a time",
        Field("handler", { $0.handler }, { $0.handler = $1 }, isRequired: true, "The identifier of the handler."),
        Field("name", { $0.name }, { $0.name = $1 }, isRequired: true, "The handler's name for the task."),
        Field("state", { $0.state }, { $0.state = $1 }, "The state of the task."),
        Field(
            "next",
            { $0.next },
            { $0.next = $1 },
            isRequired: true,
            "The earliest time of the next run, in milliseconds since 1970."
        ),
        Field(
            "latest",
            { $0.latest },
            { $0.latest = $1 },
            "The time until which the router may wait for other tasks, in milliseconds since 1970."
        ),
        Field(
            "interval",
            { $0.interval },
            { $0.interval = $1 },
            "The time between two runs, in milliseconds; without the key, the task runs once."
        ),
        Field(
            "stretched-interval",
            { $0.stretchedInterval },
            { $0.stretchedInterval = $1 },
            "The time between two runs of a fetch that has not brought new data lately, in milliseconds."
        ),
        Field(
            "requiring",
            { $0.requirements },
            { $0.requirements = $1 },
            omitting: [],
            "The conditions that must hold when the task begins."
        ),
        Field(
            "unmet",
            { $0.unmet },
            { $0.unmet = $1 },
            omitting: [],
            "The conditions that the task waits for now."
        ),
        Field(
            "failures",
            { $0.failures },
            { $0.failures = $1 },
            omitting: 0,
            "The number of attempts that have failed since the task was last done."
        ),
        .error,
        .message
    )
}

extension ScheduledTask.State: Word {
    package static func problem(with word: String) -> String { "'\(word)' is not a state of a task" }
}
