internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry
internal import UserFiles

/// Handles the calls of handlers, and of the user's programs, about tasks.
extension ScheduledTasks {
    /// Schedules a task. When this returns, it is on disk.
    func schedule(_ id: BundleIdentifier, _ name: String, _ options: TaskOptions) async throws {
        try check(options)
        try await inTurn { try await put(id, name, options) }
        update()
    }

    private func put(_ id: BundleIdentifier, _ name: String, _ options: TaskOptions) async throws {
        try await load(toChange: true)
        // By now, the handler may no longer be registered.
        try check(id, name)
        let key = Key(handler: id.rawValue, name: name)
        let earlier = entries[key]
        if let task = earlier?.task, let interval = options.interval, task.interval == interval,
            task.requirements == options.sortedRequirements
        {
            return
        }
        if earlier == nil { try checkRoom(for: id.rawValue) }
        var options = options
        // Otherwise, tasks that schedule each other would keep the machine busy.
        if running.contains(where: { $0.handler == id.rawValue }) {
            options.delay = max(
                options.delay ?? options.interval ?? 0,
                UInt64(TasksInterface.shortestInterval.milliseconds)
            )
        }
        entries[key] = newEntry(ScheduledTask(id.rawValue, name, options, at: now))
        do throws(RemoteError) {
            try await save()
        } catch {
            entries[key] = earlier
            throw error
        }
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
        if let interval = options.interval, !(shortest...longest).contains(interval) {
            throw RemoteError(
                .invalidArguments,
                "the interval is \(interval) milliseconds; it has to be between \(shortest), a minute, and \(longest), 366 days"
            )
        }
        if let delay = options.delay, delay > longest {
            throw RemoteError(
                .invalidArguments,
                "the time until the task is \(delay) milliseconds; it may be at most \(longest), 366 days"
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
        try await inTurn { () async throws(RemoteError) in
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
        let own = await callers.ownHandler(of: caller)
        let isConfined = await callers.caller(caller).callerClass.isConfined
        return entries.filter { own == nil || $0.key.handler == own }.sorted { $0.key < $1.key }
            .map { key, entry in
                var task = shown(key, entry.task)
                if isConfined { task.error = task.error.flatMap { OpenURLError($0) }?.forConfinedCallers.dbusError }
                return task
            }
    }

    /// Runs a task now, and returns the handler's answer.
    func runNow(_ id: BundleIdentifier, _ name: String) async throws -> Reported<TaskResult> {
        guard handlers.registry[id] != nil else { throw OpenURLError(unknownHandler: id.rawValue) }
        try await load()
        let key = Key(handler: id.rawValue, name: name)
        guard let entry = entries[key] else {
            let hint =
                entries.keys.contains { $0.handler == id.rawValue }
                ? "'openurl tasks \(id)' lists its tasks"
                : "it schedules its tasks when it is launched, as by 'openurl activate --background \(id)'"
            throw RemoteError(.invalidArguments, "\(id) has no task '\(printable(name))'; \(hint)")
        }
        guard begin(key) else { throw OpenURLError(.notAllowed, "\(id) is running this task already") }
        let result = try await run(key, entry).get()
        return result == .absent ? .known(.newData) : result
    }
}
