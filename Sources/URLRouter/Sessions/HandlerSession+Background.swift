internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// The way to the background and to suspension, and the time limits there.
extension HandlerSession {
    func enterBackground(_ owner: BusName) async {
        // A URL may have taken the handler back to the foreground before the handler was told of the background.
        guard machine.state == .running(owner: owner, .leaving) else { return }
        let start = SuspendingClock.now
        process.leavingSince = start
        watchdog.startTransition()
        do throws(CallError) {
            try await host.bus.enterBackground(id, at: owner, timeout: host.limits.eventTimeout)
            finishLaunch(owner)
        } catch .remote(let error) where error.isFromMissingMethod {
            // The handler does not distinguish the background, so it continues as it is.
            if machine.connection == owner { process.isSuspendable = false }
        } catch {
            host.log.warning("\(id) did not go to the background in order: \(withoutSecrets("\(error)"))")
        }
        // The handler may have been in the foreground again, and may be on its way to the background for the next time.
        guard process.leavingSince == start else { return }
        process.leavingSince = nil
        handle(.reachedBackground(owner: owner))
    }

    // MARK: Suspension

    /// Starts the suspend delay, unless there is a reason not to suspend the handler.
    func scheduleSuspension() {
        let delay = handler.manifest.suspendDelay ?? host.limits.suspendDelay
        let end = process.stay.suspensionTime ?? .now + delay
        process.stay.suspensionTime = end
        guard !timers.state.isRunning, reasonNotToSuspend == nil else { return }
        timers.start(timers.state, in: max(SuspendingClock.now.duration(to: end), .zero), .timeOver)
    }

    /// The reason not to suspend the handler, to be read after its name; nil if there is none.
    var reasonNotToSuspend: String? {
        if let mode = backgroundMode { return "its manifest has '\(mode.rawValue)' in UIBackgroundModes" }
        if let task = process.tasks.values.first { return "its background task '\(task)' is open" }
        // A person who started the handler by hand does not expect that it stops.
        if !process.isStartedByRouter { return "the router did not start it" }
        if !process.isSuspendable {
            return process.suspensionProblem ?? "it does not implement \(HandlerInterface.name).Suspend"
        }
        return nil
    }

    /// The background mode that prevents the suspension; nil if the manifest has none.
    private var backgroundMode: BackgroundMode? { handler.manifest.backgroundModes.first(where: \.preventsSuspension) }

    func askToSuspend(_ owner: BusName) async {
        guard let pid = process.running?.pid else { return }
        let lifeline: Lifeline
        do throws(Errno) {
            lifeline = try Lifeline(of: pid)
        } catch {
            host.log.error("it cannot be suspended: \(error)", metadata: ["handler": "\(id)"])
            return suspendAnswered(false, by: owner)
        }
        process.lifeline = lifeline.routerEnd
        process.suspensionProblem = nil
        do throws(CallError) {
            let isReady = try await host.bus.suspend(
                id,
                at: owner,
                lifeline: lifeline.handlerEnd,
                timeout: host.limits.eventTimeout
            )
            guard isReady, !canBeStopped(lifeline, of: owner) else { return suspendAnswered(isReady, by: owner) }
            // The handler has released its name. It takes the name back as it does after a stop.
            handle(.cannotBeStopped(owner: owner))
        } catch .remote(let error) {
            if error.isFromMissingMethod, machine.connection == owner { process.isSuspendable = false }
            if error.isFromBus { process.suspensionProblem = "the bus refuses the call: \(error.message)" }
            suspendAnswered(false, by: owner)
        } catch .notSent {
            // The bus passes no descriptors, for example over TCP.
            process.suspensionProblem = "the bus passes no descriptors"
            host.log.warning("it cannot be suspended: the bus passes no descriptors", metadata: ["handler": "\(id)"])
            if machine.connection == owner { process.isSuspendable = false }
            suspendAnswered(false, by: owner)
        } catch {
            // The process ends next, or the watchdog acts.
            host.log.debug("\(id) did not answer whether it can be stopped: \(error)")
        }
    }

    /// Whether the process may be stopped: the kernel continues it whatever becomes of the router.
    private func canBeStopped(_ lifeline: Lifeline, of owner: BusName) -> Bool {
        if lifeline.leave() { return !host.isEnding }
        let problem = "it has closed or changed the descriptor of \(HandlerInterface.name).Suspend"
        host.log.warning("it cannot be suspended: \(problem)", metadata: ["handler": "\(id)"])
        if machine.connection == owner {
            process.isSuspendable = false
            process.suspensionProblem = problem
        }
        return false
    }

    private func suspendAnswered(_ isReady: Bool, by owner: BusName) {
        // A handler that is not ready is asked again after the whole delay.
        if !isReady { process.stay.suspensionTime = nil }
        handle(.suspendAnswered(owner: owner, isReady: isReady))
    }

    // MARK: Background tasks

    /// Begins a background task of the handler.
    ///
    /// - Returns: the number of the task, and the time that is left, in milliseconds.
    func beginBackgroundTask(_ name: String) throws(OpenURLError) -> (UInt32, UInt32) {
        guard name.utf8.count <= host.limits.taskNameBytes else {
            throw OpenURLError(
                .limitsExceeded,
                "the name of a background task has more than \(host.limits.taskNameBytes) bytes"
            )
        }
        guard process.tasks.count < host.limits.tasksPerHandler else {
            throw OpenURLError(.limitsExceeded, "\(process.tasks.count) background tasks of \(id) are already open")
        }
        guard backgroundTimeRemaining > 0 else {
            throw OpenURLError(.limitsExceeded, "the background time of \(id) is over")
        }
        repeat { process.lastTask &+= 1 } while process.tasks[process.lastTask] != nil
        process.tasks[process.lastTask] = name
        recordTasks()
        if case .running(_, .background) = machine.state { timers.state.cancel() }
        countBackgroundTime()
        return (process.lastTask, backgroundTimeRemaining)
    }

    func endBackgroundTask(_ task: UInt32) {
        guard process.tasks.removeValue(forKey: task) != nil else { return }
        recordTasks()
        guard process.tasks.isEmpty else { return }
        countBackgroundTime()
        if case .running(_, .background) = machine.state { scheduleSuspension() }
    }

    /// Puts the open tasks on record for the next router, before the handler relies on them.
    func recordTasks() {
        guard process.isStartedByRouter, let identity = process.identity, process.running != nil else { return }
        host.launcher.records?.put(process.tasks, of: handler.id, identity)
    }

    /// The time limit of background tasks; nil for a handler that is never suspended.
    ///
    /// The limit depends only on what is known before the first stay. A handler that lacks methods of the contract has it too: a
    /// task that it begins is a promise to end.
    private var backgroundTimeLimit: Duration? {
        guard process.isStartedByRouter, backgroundMode == nil else { return nil }
        let limit = host.limits.backgroundTime
        return handler.manifest.backgroundTime.map { min($0, limit) } ?? limit
    }

    /// The time that background tasks have left, in milliseconds; `LifecycleInterface.unlimited` without a limit.
    var backgroundTimeRemaining: UInt32 {
        let left = process.stay.timeLeft(of: backgroundTimeLimit, in: machine.state, at: .now)
        return left.map { UInt32(clamping: Int64($0 / .milliseconds(1))) } ?? LifecycleInterface.unlimited
    }

    /// Lets the background time run while a task is open in the background, and no longer.
    func countBackgroundTime() {
        let ran = process.stay.isCounting
        process.stay.update(in: machine.state, hasTasks: !process.tasks.isEmpty, at: .now)
        if process.stay.isCounting != ran { startExpiryTimer() }
    }

    /// Begins a new stay if a URL for a handler in the background brings new work.
    func beginStay() {
        process.stay = BackgroundStay()
        process.stay.update(in: machine.state, hasTasks: !process.tasks.isEmpty, at: .now)
        startExpiryTimer()
        timers.state.cancel()
        scheduleSuspension()
    }

    private func startExpiryTimer() {
        guard process.stay.isCounting,
            let left = process.stay.timeLeft(of: backgroundTimeLimit, in: machine.state, at: .now)
        else { return timers.background.cancel() }
        if process.stay.isExpiring { return timers.start(timers.background, in: left, .backgroundTimeIsOver) }
        timers.background.start(in: max(left - host.limits.expirationNotice, .zero)) { self.expireTasks() }
    }

    /// Asks the handler, once in each stay, to end its tasks.
    private func expireTasks() {
        guard let owner = machine.connection else { return }
        host.log.notice("its background time is over", metadata: ["handler": "\(id)"])
        process.stay.isExpiring = true
        timers.start(timers.background, in: host.limits.expirationNotice, .backgroundTimeIsOver)
        host.tasks.start { [self] in
            do throws(CallError) {
                try await host.bus.expireBackgroundTasks(id, at: owner, timeout: host.limits.eventTimeout)
            } catch {
                host.log.debug("\(id) has no expiration handlers: \(error)")
            }
        }
    }
}
