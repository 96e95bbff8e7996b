internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The background tasks of a handler, and the time that they have.
extension HandlerBackground {
    /// Begins a background task of the handler.
    ///
    /// - Returns: the number of the task, and the time that is left, in milliseconds.
    func beginTask(_ name: String) throws(OpenURLError) -> (UInt32, UInt32) {
        guard name.utf8.count <= host.limits.taskNameBytes else {
            throw OpenURLError(
                .limitsExceeded,
                "the name of a background task has more than \(host.limits.taskNameBytes) bytes"
            )
        }
        guard process.tasks.count < host.limits.tasksPerHandler else {
            throw OpenURLError(.limitsExceeded, "\(process.tasks.count) background tasks of \(id) are open already")
        }
        guard timeRemaining > 0 else {
            throw OpenURLError(.limitsExceeded, "the background time of \(id) is over")
        }
        let task = process.beginTask(name)
        recordTasks()
        if case .running(_, .background) = session.machine.state { timers.state.cancel() }
        countTime()
        return (task, timeRemaining)
    }

    func endTask(_ task: UInt32) {
        guard process.tasks.removeValue(forKey: task) != nil else { return }
        recordTasks()
        guard process.tasks.isEmpty else { return }
        countTime()
        if case .running(_, .background) = session.machine.state { scheduleSuspension() }
    }

    // MARK: Records

    /// Puts the open tasks on record for the next router, before the handler relies on them.
    func recordTasks() {
        guard process.isStartedByRouter, let identity = process.identity, process.running != nil else { return }
        host.launcher.records?.put(process.tasks, of: session.handler.id, identity)
    }

    /// Continues the background tasks that the process has begun with an earlier router.
    func takeRecordedTasks() {
        guard process.isStartedByRouter, let identity = process.identity else { return process.tasks = [:] }
        process.tasks = host.launcher.records?.tasks(of: session.handler.id, identity) ?? [:]
        countTime()
    }

    // MARK: Time

    /// The time limit of background tasks; nil for a handler that is never suspended.
    ///
    /// The limit depends only on what is known before the first stay. A handler that lacks methods of the contract has it too: a
    /// task that it begins is a promise to end.
    private var timeLimit: Duration? {
        guard process.isStartedByRouter, backgroundMode == nil else { return nil }
        let limit = host.limits.backgroundTime
        return session.handler.manifest.backgroundTime.map { min($0, limit) } ?? limit
    }

    /// The time that background tasks have left; nil without a limit.
    private var timeLeft: Duration? { process.stay.timeLeft(of: timeLimit, in: session.machine.state, at: .now) }

    /// The time that background tasks have left, in milliseconds; `LifecycleInterface.unlimited` without a limit.
    var timeRemaining: UInt32 {
        timeLeft.map { UInt32(clamping: Int64($0 / .milliseconds(1))) } ?? LifecycleInterface.unlimited
    }

    /// Lets the background time run while a task is open in the background, and no longer.
    func countTime() {
        let ran = process.stay.isCounting
        process.stay.update(in: session.machine.state, hasTasks: !process.tasks.isEmpty, at: .now)
        if process.stay.isCounting != ran { startTimer() }
    }

    /// Begins a new stay if a URL for a handler in the background brings new work.
    func beginStay() {
        process.stay = BackgroundStay()
        process.stay.update(in: session.machine.state, hasTasks: !process.tasks.isEmpty, at: .now)
        startTimer()
        timers.state.cancel()
        scheduleSuspension()
    }

    /// Stops the timer of the stay: there is no process, or its connection is another one.
    func stopTimer() {
        timers.background.cancel()
    }

    private func startTimer() {
        guard process.stay.isCounting, let timeLeft else { return stopTimer() }
        if process.stay.isExpiring { return timers.start(timers.background, in: timeLeft, .backgroundTimeIsOver) }
        timers.background.start(in: max(timeLeft - host.limits.expirationNotice, .zero)) { [self, session] in
            if let owner = session.machine.connection { expireTasks(of: owner) }
        }
    }

    /// Asks the handler, once in each stay, to end its tasks.
    private func expireTasks(of owner: BusName) {
        host.log.notice("its background time is over", metadata: ["handler": "\(id)"])
        process.stay.isExpiring = true
        timers.start(timers.background, in: host.limits.expirationNotice, .backgroundTimeIsOver)
        session.startTask { [self] in
            do throws(CallError) {
                try await host.bus.expireBackgroundTasks(id, at: owner, timeout: host.limits.eventTimeout)
            } catch {
                host.log.debug("\(id) has no expiration handlers: \(error)")
            }
        }
    }
}
