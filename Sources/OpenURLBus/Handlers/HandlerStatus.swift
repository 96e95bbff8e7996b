/// A handler's state and process, as ``LifecycleInterface`` lists them.
public struct HandlerStatus: Sendable, Hashable {
    /// The handler's bundle identifier.
    public var id: String
    /// The handler's state.
    public var state: Reported<HandlerState>
    /// Identifier of its process; nil if it is not running.
    public var pid: UInt32?
    /// When the router first saw the process, in seconds since 1970.
    public var since: UInt64?
    /// Resident memory of the process, in bytes.
    public var residentMemory: UInt64?
    /// Whether a router started the process. If not, it was started by hand, and does not act for the handler.
    public var isVerified = true
    /// Whether the process still runs an earlier program than the one that a launch would start now.
    public var runsEarlierProgram = false
    /// Whether the handler has not answered a request in time, and is still busy: it has not answered an empty
    /// ``HandlerInterface/notify`` since. Until it does, it gets no other request.
    ///
    /// It may hang, it may wait for something, or a debugger may hold its process.
    public var isOverdue = false
    /// Names of the background tasks that have not ended.
    public var backgroundTasks: [String] = []
    /// The time until which the handler is not started because it crashed too often, in seconds since 1970; nil if it
    /// may be started.
    public var quarantinedUntil: UInt64?
    /// When its last process ended, in seconds since 1970; nil for a command, or if none has ended since the router started.
    public var ended: UInt64?
    /// The exit status of that process; nil if a signal ended it, or if another program had started it.
    public var exitStatus: UInt32?
    /// The number of the signal that ended that process; nil if it exited by itself, or if another program had started it.
    public var signal: UInt32?
    /// Why the router killed that process, for people to read; nil if there is no reason to report.
    public var endReason: String?

    /// Why the handler is there only temporarily; ``Reported/absent`` for any other handler.
    public var temporary: Reported<TemporaryRegistration> = .absent
    /// Whether the handler is registered. If not, its process is still running, and will end like any other.
    public var isRegistered = true

    /// Creates a status.
    public init(
        id: String,
        state: Reported<HandlerState>,
        pid: UInt32? = nil,
        since: UInt64? = nil,
        residentMemory: UInt64? = nil
    ) {
        self.id = id
        self.state = state
        self.pid = pid
        self.since = since
        self.residentMemory = residentMemory
    }
}

extension HandlerStatus: Record {
    package static let fields = FieldList(
        initial: HandlerStatus(id: "", state: .absent),
        incomplete: "a status without an id",
        Field("id", { $0.id }, { $0.id = $1 }, isRequired: true, "The bundle identifier."),
        Field("state", { $0.state }, { $0.state = $1 }, "The state of the handler."),
        Field("pid", { $0.pid }, { $0.pid = $1 }, "The identifier of the process, while there is one."),
        Field(
            "since",
            { $0.since },
            { $0.since = $1 },
            "The time when the router first saw the process, in seconds since 1970."
        ),
        Field(
            "memory",
            { $0.residentMemory },
            { $0.residentMemory = $1 },
            "The resident memory of the process, in bytes."
        ),
        Field(
            "verified",
            { $0.isVerified },
            { $0.isVerified = $1 },
            omitting: true,
            "False if the process was started by hand, in which case it does not act for the handler."
        ),
        Field(
            "earlier-program",
            { $0.runsEarlierProgram },
            { $0.runsEarlierProgram = $1 },
            omitting: false,
            "True if the process is still running an earlier version of the program; a restart starts the new one."
        ),
        Field(
            "overdue",
            { $0.isOverdue },
            { $0.isOverdue = $1 },
            omitting: false,
            "True if the handler has not answered a request in time and is still busy; until it has answered an empty `Notify`, it gets no other."
        ),
        Field(
            "background-tasks",
            { $0.backgroundTasks },
            { $0.backgroundTasks = $1 },
            omitting: [],
            "The names of the background tasks that have not ended."
        ),
        Field(
            "quarantined-until",
            { $0.quarantinedUntil },
            { $0.quarantinedUntil = $1 },
            "The time until which the handler is not started because it crashed too often, in seconds since 1970."
        ),
        Field(
            "ended",
            { $0.ended },
            { $0.ended = $1 },
            "The time when the last process ended, in seconds since 1970; absent for a command, or if none has ended since the router started."
        ),
        Field(
            "exit-status",
            { $0.exitStatus },
            { $0.exitStatus = $1 },
            "The exit status of the last process, if it exited by itself and this router had started it."
        ),
        Field(
            "signal",
            { $0.signal },
            { $0.signal = $1 },
            "The number of the signal that ended the last process, such as 9, if this router had started it."
        ),
        Field(
            "end-reason",
            { $0.endReason },
            { $0.endReason = $1 },
            "Why the router killed the last process, for people to read; absent if there is no reason to report."
        ),
        Field(
            "temporary",
            { $0.temporary },
            { $0.temporary = $1 },
            omitting: .absent,
            "Why the handler is registered only temporarily; in JSON, an empty string if it is not."
        ),
        Field(
            "registered",
            { $0.isRegistered },
            { $0.isRegistered = $1 },
            omitting: true,
            "False if the handler is no longer registered, but its process is still running."
        )
    )
}
