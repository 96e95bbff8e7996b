internal import DBus
internal import Reactor

/// The router's knowledge of one process of a handler. A new process gets a new value, so nothing outlives its process.
///
/// The value is there before the process is known: the owner of a name tells its process only when the bus is asked.
struct HandlerProcess {
    /// The process; nil until it is known, and after the router has let go of a process that it did not start.
    var handle: ProcessHandle?
    /// The time at which the router first saw the process, in seconds since 1970.
    var since: UInt64?
    /// Whether the router has ended the process, or has asked it to end.
    var isEnded = false
    /// Whether the owner of the name has answered once, and so has launched.
    var hasAnswered = false
    /// Whether the process runs the manifest's program, and so may speak for the handler.
    var isVerified = false
    /// Whether the handler can be asked to release its name, as far as it has not said otherwise.
    var isSuspendable = true
    /// The end of the time in the background; nil in the foreground.
    var backgroundDeadline: ContinuousClock.Instant?
    /// The names of the open background tasks, by their numbers.
    var tasks: [UInt32: String] = [:]
    /// The number of the background task that was begun last.
    var lastTask: UInt32 = 0
    /// The changes since the process was stopped: the latest value of each kind.
    var notifications: [String: Value] = [:]

    /// The process, while it runs.
    var running: ProcessHandle? {
        guard let handle, handle.exit == nil else { return nil }
        return handle
    }

    /// Whether the router started the process. A stopped child continues by itself when its router dies; another process
    /// would stay stopped.
    var isChild: Bool { handle?.isChild == true }

    /// The same process behind another connection: only the facts about the process itself stay.
    var withNewConnection: HandlerProcess {
        HandlerProcess(handle: handle, since: since, isEnded: isEnded)
    }
}
