internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The way to the background and to suspension, and the time limits there.
extension HandlerSession {
    func takeForeground() {
        leaveBackground()
        guard host.foreground !== self else { return }
        let previous = host.foreground
        host.foreground = self
        previous?.handle(.losesForeground)
    }

    func enterBackground(_ owner: BusName) async {
        // A URL may have taken the handler back to the foreground before the handler was told of the background.
        guard machine.state == .running(owner: owner, .leaving) else { return }
        do throws(CallError) {
            try await host.bus.enterBackground(id, at: owner)
        } catch .remote(let error) where error.isFromMissingMethod {
            // The handler does not distinguish the background, so it continues as it is.
            if machine.connection == owner { process.isSuspendable = false }
        } catch {
            host.log.warning("\(id) did not go to the background in order: \(error)")
        }
        handle(.reachedBackground(owner: owner))
    }

    func checkBackground(of owner: BusName) async {
        do throws(CallError) {
            let phase = try await host.bus.phase(of: id, at: owner, timeout: .seconds(1))
            if HandlerInterface.backgroundPhases.contains(phase) {
                handle(.backgroundHangs(owner: owner, phase: phase))
            } else if machine.state == .running(owner: owner, .leaving) {
                // The handler has something else to do before.
                startStateTimerWhenIdle()
            }
        } catch {
            handle(.backgroundHangs(owner: owner, phase: "the event loop"))
        }
    }

    /// The time in the background has no limit from now on, or its end does not matter any longer.
    private func leaveBackground() {
        process.backgroundDeadline = nil
        expiryTimer.cancel()
    }

    // MARK: Suspension

    /// Starts the suspend delay, unless there is a reason not to suspend the handler.
    func scheduleSuspension() {
        if process.backgroundDeadline == nil { process.backgroundDeadline = .now + host.limits.backgroundTime }
        startExpiryTimer()
        guard !stateTimer.isRunning, reasonNotToSuspend == nil else { return }
        stateTimer.start(in: handler.manifest.suspendDelay ?? host.limits.suspendDelay) { self.handle(.timeOver) }
    }

    /// The reason not to suspend the handler, to be read after its name; nil if there is none.
    var reasonNotToSuspend: String? {
        if !handler.manifest.backgroundModes.isEmpty { return "its manifest has UIBackgroundModes" }
        if let task = process.tasks.values.first { return "its background task '\(task)' is open" }
        // A stopped child continues when its router dies. No process would wake another program's child.
        if !process.isChild { return "the router did not start it" }
        if !process.isSuspendable { return "it does not implement \(HandlerInterface.name).Suspend" }
        return nil
    }

    func askToSuspend(_ owner: BusName) async {
        do throws(CallError) {
            let isReady = try await host.bus.suspend(id, at: owner)
            handle(.suspendAnswered(owner: owner, isReady: isReady))
        } catch .remote(let error) {
            if error.isFromMissingMethod, machine.connection == owner { process.isSuspendable = false }
            handle(.suspendAnswered(owner: owner, isReady: false))
        } catch {
            // The process ends next, or the watchdog acts.
            host.log.debug("\(id) did not answer whether it can be stopped: \(error)")
        }
    }

    /// Starts the watchdog of the machine's state. The watchdog of the way to the background waits until the handler has
    /// nothing in hand.
    func startStateTimerWhenIdle() {
        switch machine.state {
        case .running(_, .leaving):
            if !requests.inHand.isEmpty || stateTimer.isRunning { return }
        case .suspending, .waking:
            break
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspended, .ending:
            return
        }
        stateTimer.start(in: host.limits.phaseTimeout) { self.handle(.timeOver) }
    }

    // MARK: Background tasks

    /// Begins a background task of the handler.
    ///
    /// - Returns: the number of the task, and the time that is left, in milliseconds.
    func beginBackgroundTask(_ name: String) throws(OpenURLError) -> (UInt32, UInt32) {
        guard process.tasks.count < host.limits.tasksPerHandler else {
            throw OpenURLError(.limitsExceeded, "\(process.tasks.count) background tasks of \(id) are open already")
        }
        process.lastTask &+= 1
        process.tasks[process.lastTask] = name
        if case .running(_, .background) = machine.state { stateTimer.cancel() }
        startExpiryTimer()
        return (process.lastTask, backgroundTimeRemaining)
    }

    func endBackgroundTask(_ task: UInt32) {
        guard process.tasks.removeValue(forKey: task) != nil, process.tasks.isEmpty else { return }
        expiryTimer.cancel()
        if case .running(_, .background) = machine.state { scheduleSuspension() }
    }

    /// The time that is left in the background, in milliseconds; `LifecycleInterface.unlimited` without a limit.
    var backgroundTimeRemaining: UInt32 {
        guard let deadline = process.backgroundDeadline, handler.manifest.backgroundModes.isEmpty else {
            return LifecycleInterface.unlimited
        }
        let left = ContinuousClock.now.duration(to: deadline)
        return left > .zero ? UInt32(clamping: Int64(left / .milliseconds(1))) : 0
    }

    private func startExpiryTimer() {
        guard !expiryTimer.isRunning, !process.tasks.isEmpty, let deadline = process.backgroundDeadline else { return }
        expiryTimer.start(at: deadline - host.limits.expirationNotice) { self.expireTasks(deadline) }
    }

    private func expireTasks(_ deadline: ContinuousClock.Instant) {
        guard let owner else { return }
        host.log.notice("its background time is over", metadata: ["handler": "\(id)"])
        expiryTimer.start(at: deadline) {
            if !self.process.tasks.isEmpty { self.handle(.backgroundTimeIsOver) }
        }
        host.tasks.start { [self] in
            do throws(CallError) {
                try await host.bus.expireBackgroundTasks(id, at: owner)
            } catch {
                host.log.debug("\(id) has no expiration handlers: \(error)")
            }
        }
    }
}
