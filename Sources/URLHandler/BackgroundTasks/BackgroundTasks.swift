/// The identifier of a background task, unique within the process.
public struct BackgroundTaskIdentifier: Sendable, Hashable {
    let number: Int
}

extension Application {
    /// Begins a background task, which keeps the handler from being suspended until it ends ("Executing a Finite-Length
    /// Task in the Background").
    ///
    /// Begin the task before the work, no matter what state the handler is in, and end every task. During each stay in
    /// the background, the router gives all tasks a total of 180 seconds (`OUBackgroundTime` sets a shorter time). A
    /// stay ends when the handler comes to the foreground or is suspended. If another program's URL arrives in the
    /// background, a new stay begins. Shortly before the time runs out, the router asks the handler to call the
    /// expiration handlers. If a task is still open one second later, the router ends the process. There is no limit if
    /// no router suspends the handler: without a router, with `audio` or `voip` in `UIBackgroundModes` until
    /// ``finishBackgroundMode()``, and if the handler was started by hand.
    ///
    /// - Parameters:
    ///   - name: describes the work for people who look at the running tasks.
    ///   - expirationHandler: stops the work and ends the task. It is called on the main actor when the time is nearly
    ///     over, at most once, and not after the task has ended.
    /// - Returns: the identifier to pass to ``endBackgroundTask(_:)``. If the time has already run out, the expiration
    ///   handler has been called, and the task is not open.
    public func beginBackgroundTask(
        named name: String,
        expirationHandler: (@MainActor () -> Void)? = nil
    ) async -> BackgroundTaskIdentifier {
        await backgroundTasks.begin(name, expirationHandler)
    }

    /// Ends a task. When the last task has ended, the handler may be suspended.
    ///
    /// If the task has already ended, this does nothing.
    public func endBackgroundTask(_ task: BackgroundTaskIdentifier) {
        backgroundTasks.end(task)
    }

    /// Says that the handler is done with what its background mode is for (`audio` or `voip` in `UIBackgroundModes`),
    /// such as playing sound. For the rest of its stay in the background, it is suspended like any other handler.
    public func finishBackgroundMode() {
        backgroundTasks.timekeeper?.finishMode()
    }

    /// How much time the handler's background tasks have left, no matter whether a task is open.
    ///
    /// On the way to the background, and therefore in `applicationDidEnterBackground`, it is the time for the whole
    /// stay there. It is nil if there is no limit: in the foreground, or if no router suspends the handler.
    public var backgroundTimeRemaining: Duration? {
        get async { await backgroundTasks.timekeeper?.remaining() }
    }
}

/// The source of a handler's background time. Outside tests, this is the router.
package protocol BackgroundTimekeeper: Sendable {
    /// Begins a task.
    func begin(_ name: String) async -> BackgroundTaskGrant
    /// Ends the task with this number.
    func end(_ number: UInt32)
    /// Ends all tasks that were begun with an earlier router.
    func endEarlierTasks()
    /// Ends what the background mode is for, until the end of the stay.
    func finishMode()
    /// Returns the remaining background time; nil if there is no limit.
    func remaining() async -> Duration?
}

/// A ``BackgroundTimekeeper``'s answer to a task that begins.
package enum BackgroundTaskGrant: Sendable, Hashable {
    /// The task has begun, and has this number.
    case begun(UInt32)
    /// The handler's time has run out, or too many tasks are open.
    case refused
    /// No router limits the time.
    case unlimited
}

/// The background tasks that have begun but not ended.
@MainActor package final class BackgroundTasks {
    private struct OpenTask {
        let name: String
        var expirationHandler: (@MainActor () -> Void)?
        /// The numbers that routers have given the task. There can be several, because two registrations may overlap.
        var numbers: [UInt32] = []
    }

    let timekeeper: (any BackgroundTimekeeper)?
    private let blackboard: WatchdogBlackboard
    private var tasks: [Int: OpenTask] = [:] {
        didSet { blackboard.update(openTasks: tasks.count) }
    }
    private var lastNumber = 0

    init(_ blackboard: WatchdogBlackboard, _ timekeeper: (any BackgroundTimekeeper)?) {
        self.blackboard = blackboard
        self.timekeeper = timekeeper
    }

    func begin(_ name: String, _ expirationHandler: (@MainActor () -> Void)?) async -> BackgroundTaskIdentifier {
        lastNumber += 1
        let number = lastNumber
        // From here on the task counts as open, so that the handler is not suspended while it waits for the router's
        // answer.
        tasks[number] = OpenTask(name: name, expirationHandler: expirationHandler)
        await register(number)
        return BackgroundTaskIdentifier(number: number)
    }

    /// Begins the open tasks again under a new router.
    ///
    /// The router may know some of them from its predecessor. It may also know tasks that have ended without the
    /// predecessor's knowledge. So each task begins again, and then all earlier numbers end, except those that the new
    /// router has given out again.
    func renew() async {
        let earlier = Set(tasks.values.flatMap(\.numbers))
        for number in tasks.keys.sorted() {
            tasks[number]?.numbers = []
            await register(number)
        }
        for number in earlier.subtracting(tasks.values.flatMap(\.numbers)).sorted() { timekeeper?.end(number) }
        timekeeper?.endEarlierTasks()
    }

    private func register(_ number: Int) async {
        guard let timekeeper, let name = tasks[number]?.name else { return }
        switch await timekeeper.begin(name) {
        case .begun(let given):
            // The task may have ended in the meantime.
            if tasks[number] == nil { timekeeper.end(given) } else { tasks[number]?.numbers.append(given) }
        case .refused:
            tasks.removeValue(forKey: number)?.expirationHandler?()
        case .unlimited:
            break
        }
    }

    func end(_ task: BackgroundTaskIdentifier) {
        guard let ended = tasks.removeValue(forKey: task.number) else { return }
        for number in ended.numbers { timekeeper?.end(number) }
    }

    /// The number of tasks that have begun but not ended.
    package var count: Int { tasks.count }

    /// Calls the expiration handlers, in the order in which the tasks began.
    package func expire() {
        for number in tasks.keys.sorted() {
            // This is nil if an earlier expiration handler has ended this task too.
            let handler = tasks[number]?.expirationHandler
            tasks[number]?.expirationHandler = nil
            handler?()
        }
    }
}
