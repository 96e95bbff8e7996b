public import OpenURLBus

extension Application {
    /// Schedules a task, for which the router launches or wakes the handler in the background
    /// (``ApplicationDelegate/application(_:performTask:)``). The task is on disk when this returns, and it survives the
    /// handler's end.
    ///
    /// An earlier task with this name is replaced, but a repeated task with the same interval and the same conditions stays
    /// as it is. So schedule repeated tasks at each launch. The router may run a task late, by a tenth of the time or five
    /// minutes at most, so that several tasks share a wake-up. A task that has failed is tried again.
    ///
    /// - Parameters:
    ///   - name: the handler's own name for the task, at most 128 bytes.
    ///   - delay: the earliest time, from now. By default it is zero, or the interval of a repeated task.
    ///   - interval: the time between two runs of a repeated task, at least a minute; nil for a task that runs once.
    ///   - requirements: what must be true when the task begins.
    /// - Throws: `OpenURLError` with the code `notAllowed` or `limitsExceeded`; the message says why.
    public nonisolated func scheduleTask(
        named name: String,
        after delay: Duration? = nil,
        every interval: Duration? = nil,
        requiring requirements: [TaskRequirement] = []
    ) async throws(OpenURLError) {
        var options = TaskOptions()
        options.delay = delay.map(\.wholeMilliseconds)
        options.interval = interval.map(\.wholeMilliseconds)
        options.requirements = requirements
        try await scheduler.schedule(identifier.rawValue, name, options)
    }

    /// Removes a task. If it is running, it is not interrupted, but it is not run again. If there is none, nothing happens.
    ///
    /// - Parameter name: the task's name; an empty string for all tasks of the handler.
    /// - Throws: `OpenURLError` with the code `notAllowed`.
    public nonisolated func cancelTask(named name: String) async throws(OpenURLError) {
        try await scheduler.cancel(identifier.rawValue, name)
    }

    /// The handler's tasks, in the order of their names.
    public nonisolated var scheduledTasks: [ScheduledTask] {
        get async throws(OpenURLError) { try await scheduler.tasks(of: identifier.rawValue) }
    }

    private nonisolated var scheduler: any TaskScheduler {
        get throws(OpenURLError) {
            guard let tasks else { throw OpenURLError(.notAllowed, "there is no router to run tasks") }
            return tasks
        }
    }

    // MARK: Fetching

    /// The shortest interval for ``setMinimumBackgroundFetchInterval(_:)``: 15 minutes
    /// (`UIApplicationBackgroundFetchIntervalMinimum` in the guide).
    public nonisolated static let backgroundFetchIntervalMinimum = Duration.seconds(15 * 60)

    /// Sets how often the handler fetches new content in the background ("Fetching Small Amounts of Content Regularly").
    /// The router then launches or wakes it for ``ApplicationDelegate/applicationPerformFetch(_:)``, when there is a network.
    ///
    /// The manifest must have `fetch` in `UIBackgroundModes`. While there is no new data, the router makes the interval up
    /// to four times as long. Call this at each launch: the same interval again changes nothing.
    ///
    /// - Parameter interval: the interval, which is raised to ``backgroundFetchIntervalMinimum`` if it is shorter; nil for
    ///   never (`UIApplicationBackgroundFetchIntervalNever`).
    /// - Throws: `OpenURLError` with the code `notAllowed`; the message says why.
    public nonisolated func setMinimumBackgroundFetchInterval(_ interval: Duration?) async throws(OpenURLError) {
        guard let interval else { return try await cancelTask(named: TasksInterface.fetch) }
        try await scheduleTask(
            named: TasksInterface.fetch,
            every: max(interval, Self.backgroundFetchIntervalMinimum),
            requiring: [.network]
        )
    }
}

extension Duration {
    /// Whole milliseconds; 0 for a negative duration.
    fileprivate var wholeMilliseconds: UInt64 {
        UInt64(min(max(self, .zero), .seconds(Int64(1) << 40)).milliseconds)
    }
}

/// The keeper of tasks. Outside tests, this is the router.
package protocol TaskScheduler: Sendable {
    /// Schedules a task, in place of an earlier one with its name.
    func schedule(_ id: String, _ name: String, _ options: TaskOptions) async throws(OpenURLError)
    /// Removes a task, or all tasks if the name is empty.
    func cancel(_ id: String, _ name: String) async throws(OpenURLError)
    /// Returns a handler's tasks.
    func tasks(of id: String) async throws(OpenURLError) -> [ScheduledTask]
}
