/// Names one background task of a handler; no two tasks of a process have the same.
public struct BackgroundTaskIdentifier: Sendable, Hashable {
    let number: Int
}

extension Application {
    /// Keeps the handler from being suspended until the task ends ("Executing a Finite-Length Task in the Background").
    ///
    /// Begin it before the work, wherever the handler is by then; every task must be ended. The router gives all tasks
    /// together 180 seconds in the background. Just before they are over it has the expiration handlers called, and a
    /// second later it ends the process if a task is still open. Without a router nobody suspends the handler.
    ///
    /// - Parameters:
    ///   - name: what the work is, for a person who looks at what runs.
    ///   - expirationHandler: called on the main actor when the time is nearly over, at most once and not after the task has
    ///     ended; it breaks the work off and ends the task.
    /// - Returns: what ``endBackgroundTask(_:)`` wants to know.
    public func beginBackgroundTask(
        named name: String,
        expirationHandler: (@MainActor () -> Void)? = nil
    ) async -> BackgroundTaskIdentifier {
        await backgroundTasks.begin(name, expirationHandler)
    }

    /// Ends a task, and with the last one what keeps the handler from being suspended. One that has ended is ignored.
    public func endBackgroundTask(_ task: BackgroundTaskIdentifier) {
        backgroundTasks.end(task)
    }

    /// How long the handler may still run in the background; nil where there is no limit: in the foreground, and without a
    /// router.
    public var backgroundTimeRemaining: Duration? {
        get async { await backgroundTasks.timekeeper?.remaining() }
    }
}

/// Who gives a handler time in the background: the router.
package protocol BackgroundTimekeeper: Sendable {
    /// - Returns: the task's number there; nil where the router cannot be asked.
    func begin(_ name: String) async -> UInt32?
    func end(_ number: UInt32)
    /// - Returns: nil where there is no limit.
    func remaining() async -> Duration?
}

/// The tasks that have begun and not ended.
@MainActor package final class BackgroundTasks {
    private struct OpenTask {
        var expirationHandler: (@MainActor () -> Void)?
        /// The router's number for it, where it has one.
        var number: UInt32?
    }

    let timekeeper: (any BackgroundTimekeeper)?
    private let progress: Progress
    private var tasks: [Int: OpenTask] = [:] {
        didSet { progress.update(openTasks: tasks.count) }
    }
    private var lastNumber = 0

    init(_ progress: Progress, _ timekeeper: (any BackgroundTimekeeper)?) {
        self.progress = progress
        self.timekeeper = timekeeper
    }

    func begin(_ name: String, _ expirationHandler: (@MainActor () -> Void)?) async -> BackgroundTaskIdentifier {
        lastNumber += 1
        let number = lastNumber
        // It counts from here on, whatever the router says and when.
        tasks[number] = OpenTask(expirationHandler: expirationHandler)
        if let timekeeper { tasks[number]?.number = await timekeeper.begin(name) }
        return BackgroundTaskIdentifier(number: number)
    }

    func end(_ task: BackgroundTaskIdentifier) {
        guard let ended = tasks.removeValue(forKey: task.number), let number = ended.number else { return }
        timekeeper?.end(number)
    }

    /// How many have begun and not ended.
    package var count: Int { tasks.count }

    /// Calls the expiration handlers, the one of the oldest task first.
    package func expire() {
        for number in tasks.keys.sorted() {
            // Nil where an expiration handler before has ended this task too.
            let handler = tasks[number]?.expirationHandler
            tasks[number]?.expirationHandler = nil
            handler?()
        }
    }
}
