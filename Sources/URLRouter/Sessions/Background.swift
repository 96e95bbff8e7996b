internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The way to the background, and what may last there for how long.
extension URLRouter {
    func takeForeground(_ session: HandlerSession) {
        leaveBackground(session)
        guard foreground !== session else { return }
        let previous = foreground
        foreground = session
        if let previous { handle(.losesForeground, previous) }
    }

    func enterBackground(_ session: HandlerSession, _ owner: BusName) async {
        // A URL may have taken it back to the foreground before it was told of the background.
        guard session.machine.state == .running(owner: owner, .leaving) else { return }
        do throws(CallError) {
            try await bus.enterBackground(session.id, at: owner)
        } catch .remote(let error) where error.isFromMissingMethod {
            // It goes on as it is, and nobody sees the difference.
            session.isSuspendable = false
        } catch {
            log.warning("\(session.id) did not go to the background in order: \(error)")
        }
        handle(.reachedBackground(owner: owner), session)
    }

    func checkBackground(of session: HandlerSession, _ owner: BusName) async {
        do throws(CallError) {
            let phase = try await bus.phase(of: session.id, at: owner, timeout: .seconds(1))
            if HandlerInterface.backgroundPhases.contains(phase) {
                handle(.backgroundHangs(owner: owner, phase: phase), session)
            } else if session.machine.state == .running(owner: owner, .leaving) {
                // It has something to do before.
                startStateTimerWhenIdle(session)
            }
        } catch {
            handle(.backgroundHangs(owner: owner, phase: "the event loop"), session)
        }
    }

    /// Suspends the handler after a while, where that may be.
    func scheduleSuspension(_ session: HandlerSession) {
        if session.backgroundDeadline == nil { session.backgroundDeadline = .now + limits.backgroundTime }
        startExpiryTimer(session)
        guard session.stateTimer == nil, reasonNotToSuspend(session) == nil else { return }
        startStateTimer(session, session.handler.manifest.suspendDelay ?? limits.suspendDelay)
    }

    func reasonNotToSuspend(_ session: HandlerSession) -> String? {
        if !session.handler.manifest.backgroundModes.isEmpty { return "its manifest has UIBackgroundModes" }
        if let task = session.tasks.values.first { return "its background task '\(task)' is open" }
        // A stopped process wakes when the router that started it dies; nobody would wake another one.
        if session.process?.isChild != true { return "the router did not start it" }
        if !session.isSuspendable { return "it does not implement \(HandlerInterface.name).Suspend" }
        return nil
    }

    func askToSuspend(_ session: HandlerSession, _ owner: BusName) async {
        do throws(CallError) {
            let isReady = try await bus.suspend(session.id, at: owner)
            handle(.suspendAnswered(owner: owner, isReady: isReady), session)
        } catch .remote(let error) {
            if error.isFromMissingMethod { session.isSuspendable = false }
            handle(.suspendAnswered(owner: owner, isReady: false), session)
        } catch {
            // Its end or the watchdog is next.
            log.debug("\(session.id) did not answer whether it can be stopped: \(error)")
        }
    }

    /// What has no limit in the foreground, or has none any more.
    func leaveBackground(_ session: HandlerSession) {
        session.backgroundDeadline = nil
        if let timer = session.expiryTimer { loop.cancelTimer(timer) }
        session.expiryTimer = nil
    }

    // MARK: Timers

    /// Starts the watchdog of the machine's state: for the way to the background, when nothing is in hand before it.
    func startStateTimerWhenIdle(_ session: HandlerSession) {
        switch session.machine.state {
        case .running(_, .leaving): if !session.inHand.isEmpty || session.stateTimer != nil { return }
        case .suspending, .waking: break
        default: return
        }
        startStateTimer(session, limits.phaseTimeout)
    }

    private func startStateTimer(_ session: HandlerSession, _ time: Duration) {
        stopStateTimer(session)
        session.stateTimer = loop.schedule(at: .now + time) {
            session.stateTimer = nil
            self.handle(.timeOver, session)
        }
    }

    func stopStateTimer(_ session: HandlerSession) {
        if let timer = session.stateTimer { loop.cancelTimer(timer) }
        session.stateTimer = nil
    }

    private func startExpiryTimer(_ session: HandlerSession) {
        guard session.expiryTimer == nil, !session.tasks.isEmpty, let deadline = session.backgroundDeadline else {
            return
        }
        session.expiryTimer = loop.schedule(at: deadline - limits.expirationNotice) {
            self.expireTasks(of: session, deadline)
        }
    }

    private func expireTasks(of session: HandlerSession, _ deadline: ContinuousClock.Instant) {
        guard let owner = session.owner else { return }
        log.notice("its background time is over", metadata: ["handler": "\(session.id)"])
        session.expiryTimer = loop.schedule(at: deadline) {
            session.expiryTimer = nil
            if !session.tasks.isEmpty { self.handle(.backgroundTimeIsOver, session) }
        }
        Task.immediate(executorPreference: loop) {
            do throws(CallError) {
                try await self.bus.expireBackgroundTasks(session.id, at: owner)
            } catch {
                self.log.debug("\(session.id) has no expiration handlers: \(error)")
            }
        }
    }

    // MARK: Background tasks

    /// Begins a task of the handler that calls.
    ///
    /// - Returns: the task's number, and how many milliseconds are left.
    func beginBackgroundTask(_ name: String, caller: BusName?) throws(OpenURLError) -> (UInt32, UInt32) {
        let session = try callingSession(caller)
        guard session.tasks.count < limits.tasksPerHandler else {
            throw OpenURLError(
                .limitsExceeded,
                "\(session.tasks.count) background tasks of \(session.id) are open already"
            )
        }
        session.lastTask &+= 1
        session.tasks[session.lastTask] = name
        if case .running(_, .background) = session.machine.state { stopStateTimer(session) }
        startExpiryTimer(session)
        return (session.lastTask, remaining(session))
    }

    func endBackgroundTask(_ task: UInt32, caller: BusName?) throws(OpenURLError) {
        let session = try callingSession(caller)
        guard session.tasks.removeValue(forKey: task) != nil, session.tasks.isEmpty else { return }
        if let timer = session.expiryTimer { loop.cancelTimer(timer) }
        session.expiryTimer = nil
        if case .running(_, .background) = session.machine.state { scheduleSuspension(session) }
    }

    func backgroundTimeRemaining(caller: BusName?) throws(OpenURLError) -> UInt32 {
        remaining(try callingSession(caller))
    }

    private func remaining(_ session: HandlerSession) -> UInt32 {
        guard let deadline = session.backgroundDeadline, session.handler.manifest.backgroundModes.isEmpty else {
            return LifecycleInterface.unlimited
        }
        let left = ContinuousClock.now.duration(to: deadline)
        return left > .zero ? UInt32(clamping: Int64(left / .milliseconds(1))) : 0
    }

    private func callingSession(_ caller: BusName?) throws(OpenURLError) -> HandlerSession {
        let session = caller.flatMap { caller in sessions.values.first { $0.machine.connection == caller } }
        guard let session else {
            throw OpenURLError(.notAllowed, "the caller owns no handler's name")
        }
        return session
    }

    // MARK: What was started by others

    func askForState(_ session: HandlerSession, _ owner: BusName) async {
        var state = HandlerState.active
        do throws(CallError) {
            let answer = try await bus.state(of: session.id, at: owner, timeout: .seconds(1))
            state = HandlerState(rawValue: answer) ?? state
        } catch {
            // A handler in another language need not say; it is where its user put it.
            log.debug("\(session.id) does not say its state: \(error)")
        }
        // A process that was started for its first message has not got it yet.
        if state != .notRunning { handle(.tellsState(owner: owner, state), session) }
    }
}
