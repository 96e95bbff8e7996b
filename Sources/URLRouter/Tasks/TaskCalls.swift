internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// Handles the calls of handlers, and of the user's programs, about tasks.
extension ScheduledTasks {
    /// Schedules a task. When this returns, it is on disk.
    func schedule(_ id: BundleIdentifier, _ name: String, _ options: TaskOptions) async throws {
        try check(id, name)
        try check(options)
        try await load()
        let key = Key(handler: id.rawValue, name: name)
        let earlier = entries[key]
        if let task = earlier?.task, let interval = options.interval, task.interval == interval,
            task.requirements == options.sortedRequirements
        {
            return
        }
        if earlier == nil { try checkRoom(for: id.rawValue) }
        let entry = newEntry(ScheduledTask(id.rawValue, name, options, at: now))
        entries[key] = entry
        do throws(RemoteError) {
            try await save()
        } catch {
            if entries[key]?.number == entry.number { entries[key] = earlier }
            throw error
        }
        update()
    }

    private func check(_ id: BundleIdentifier, _ name: String) throws(OpenURLError) {
        guard let handler = handlers.registry[id] else { throw OpenURLError(unknownHandler: id.rawValue) }
        guard handler.canBeWoken else {
            throw OpenURLError(.notAllowed, "\(id) runs only to open URLs, so it has no tasks in the background")
        }
        guard handlers.temporary.reason(for: id) == nil else {
            throw OpenURLError(.notAllowed, "\(id) is registered only temporarily, and a task may come after that")
        }
        guard name != TasksInterface.fetch || handler.manifest.backgroundModes.contains(.fetch) else {
            throw OpenURLError(.notAllowed, "\(id) needs 'fetch' in UIBackgroundModes for a task with this name")
        }
    }

    private func check(_ options: TaskOptions) throws(RemoteError) {
        let shortest = UInt64(TasksInterface.shortestInterval.milliseconds)
        let longest = UInt64(TasksInterface.longestWait.milliseconds)
        guard options.delay ?? 0 <= longest, (shortest...longest).contains(options.interval ?? shortest) else {
            throw RemoteError(
                .invalidArguments,
                "the time until a task, and its interval, have at most \(longest) milliseconds, and the interval at least "
                    + "\(shortest)"
            )
        }
    }

    private func checkRoom(for id: String) throws(OpenURLError) {
        guard entries.count < TasksInterface.tasks,
            entries.keys.count(where: { $0.handler == id }) < TasksInterface.tasksPerHandler
        else {
            throw OpenURLError(
                .limitsExceeded,
                "a handler has at most \(TasksInterface.tasksPerHandler) tasks, and all handlers together "
                    + "\(TasksInterface.tasks)"
            )
        }
    }

    /// Removes a task, or all tasks of the handler if the name is empty. If there is none, nothing happens.
    func cancel(_ id: BundleIdentifier, _ name: String) async throws(RemoteError) {
        try await load()
        let ended = entries.filter { $0.key.handler == id.rawValue && (name.isEmpty || $0.key.name == name) }
        guard !ended.isEmpty else { return }
        for key in ended.keys { entries[key] = nil }
        do throws(RemoteError) {
            try await save()
        } catch {
            entries.merge(ended) { new, _ in new }
            throw error
        }
        update()
    }

    /// Removes all tasks of a handler that is no longer registered. Another program may get its identifier.
    func endAll(of id: BundleIdentifier) async {
        do throws(RemoteError) {
            try await cancel(id, "")
        } catch {
            log.error("its tasks were not removed: \(error.message)", metadata: ["handler": "\(id)"])
        }
    }

    /// Returns the tasks that a caller may know about.
    func list(for caller: BusName?) async throws(RemoteError) -> [ScheduledTask] {
        try await load()
        let own = await callers.ownIdentifier(of: caller)
        return entries.filter { own == nil || $0.key.handler == own }.sorted { $0.key < $1.key }
            .map { shown($0.key, $0.value.task) }
    }

    /// Runs a task now, and returns the handler's answer.
    func runNow(_ id: BundleIdentifier, _ name: String) async throws -> Reported<TaskResult> {
        try await load()
        let key = Key(handler: id.rawValue, name: name)
        guard let entry = entries[key] else {
            throw RemoteError(.invalidArguments, "\(id) has no task with this name; 'openurl tasks' lists the tasks")
        }
        guard let outcome = await run(key, entry) else {
            throw OpenURLError(.notAllowed, "\(id) is running this task already")
        }
        let result = try outcome.get()
        return result == .absent ? .known(.newData) : result
    }
}
