internal import DBus
internal import DequeModule
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// What the handlers' machines ask for, done: looking, launching, killing, handing over.
extension URLRouter {
    /// Tells a handler's machine what has happened, and does what it asks for.
    func handle(_ event: HandlerMachine.Event, _ session: HandlerSession) {
        let before = session.machine.state
        let effects = session.machine.on(event)
        // The timer was for the state that is over.
        if session.machine.state != before { stopStateTimer(session) }
        for effect in effects { perform(effect, session) }
        if session.machine.state != before { stateChanged(session) }
    }

    private func stateChanged(_ session: HandlerSession) {
        let state = state(of: session)
        if state != session.announced {
            session.announced = state
            bus.announce(state, of: session.id)
        }
        if session.owner == nil, foreground === session { foreground = nil }
        let reached = session.waiters.filter { $0.isReached(session.machine.state) }
        guard !reached.isEmpty else { return }
        session.waiters.removeAll { $0.isReached(session.machine.state) }
        for waiter in reached { waiter.continuation.resume() }
    }

    /// Returns when a handler's machine is in a state that fits; everything it waits for has a watchdog.
    func wait(for session: HandlerSession, until isReached: @escaping (HandlerMachine.State) -> Bool) async {
        await withCheckedContinuation { continuation in
            if isReached(session.machine.state) { return continuation.resume() }
            session.waiters.append((isReached, continuation))
        }
    }

    func perform(_ effect: HandlerMachine.Effect, _ session: HandlerSession) {
        switch effect {
        case .lookForOwner: Task.immediate(executorPreference: loop) { await self.lookForOwner(of: session) }
        case .launch: launch(session)
        case .identify(let owner):
            session.verdict = nil
            session.hasAnswered = false
            session.isVerified = false
            session.isSuspendable = true
            // A process that waits for its first message does not hang; the first one starts the watchdog again.
            if session.waiting.isEmpty { stopLaunchTimer(session) }
            Task.immediate(executorPreference: loop) { await self.identify(owner, session) }
        case .deliver:
            guard let owner = session.owner else { return }
            while let request = session.waiting.first, request.context != nil, !session.closesCircle(request) {
                // Those that wait go on by way of the loop's jobs; one that has just come would go ahead at once, and pass
                // them.
                if case .suspended = request.turn { session.onTheirWay += 1 } else if session.onTheirWay > 0 { return }
                session.waiting.removeFirst()
                request.resolve(.success(owner))
            }
        case .failWaiting(let error):
            stopTimers(session)
            log.warning("\(error.message)", metadata: ["handler": "\(session.id)"])
            // Those whose sender is still being asked for are in the queue too, and find their turn refused.
            let waiting = session.waiting
            session.waiting = []
            for request in waiting { request.resolve(.failure(error)) }
        case .checkLaunch(let owner):
            Task.immediate(executorPreference: loop) { await self.checkLaunch(of: session, owner) }
        case .takeForeground: takeForeground(session)
        case .enterBackground(let owner):
            Task.immediate(executorPreference: loop) { await self.enterBackground(session, owner) }
        case .checkBackground(let owner):
            Task.immediate(executorPreference: loop) { await self.checkBackground(of: session, owner) }
        case .scheduleSuspension: scheduleSuspension(session)
        case .askToSuspend(let owner):
            Task.immediate(executorPreference: loop) { await self.askToSuspend(session, owner) }
        case .stop: session.process?.send(signal: SIGSTOP)
        case .resume:
            session.process?.send(signal: SIGCONT)
            for request in session.waiting {
                request.causedWake = true
                request.addPhase("processResumed")
            }
        case .startTimer: startStateTimerWhenIdle(session)
        case .wakeIfWaiting: if !session.waiting.isEmpty { handle(.requested, session) }
        case .terminate:
            session.isEnded = true
            session.process?.send(signal: SIGTERM)
        case .kill:
            session.isEnded = true
            end(session)
        case .blame(let error):
            log.warning("\(error.message)", metadata: ["handler": "\(session.id)"])
            session.verdict = error
        case .startEndWatchdog:
            stopTimers(session)
            session.endTimer = loop.schedule(at: .now + limits.endTimeout) {
                self.handle(.endTimedOut, session)
            }
        case .restartIfWaiting:
            stopTimers(session)
            session.process = nil
            leaveBackground(session)
            session.tasks = [:]
            session.notifications = [:]
            if !session.waiting.isEmpty { handle(.requested, session) }
        }
    }

    /// Ends a process that was started here; one that somebody else started is theirs to end, and is let go.
    func end(_ session: HandlerSession) {
        guard let process = session.process, !process.isChild else {
            session.process?.kill()
            return
        }
        process.release()
        handle(.exited(.unknown), session)
    }

    func stopTimers(_ session: HandlerSession) {
        stopLaunchTimer(session)
        if let timer = session.endTimer { loop.cancelTimer(timer) }
        session.endTimer = nil
    }

    func stopLaunchTimer(_ session: HandlerSession) {
        if let timer = session.launchTimer { loop.cancelTimer(timer) }
        session.launchTimer = nil
    }

    func startLaunchTimer(_ session: HandlerSession) {
        session.launchTimer = loop.schedule(at: .now + session.machine.launchTimeout) {
            session.launchTimer = nil
            self.handle(.launchTimedOut, session)
        }
    }

    func lookForOwner(of session: HandlerSession) async {
        do throws(CallError) {
            handle(.found(owner: try await owner(of: session)), session)
        } catch {
            log.error("the bus does not say who owns \(session.id): \(error)")
            handle(.lookupFailed, session)
        }
    }

    /// Who owns the handler's name; from then on every change is told to the machine.
    func owner(of session: HandlerSession) async throws(CallError) -> BusName? {
        if !session.isNameWatched {
            let id = session.id
            try await bus.watchOwner(of: id) { [unowned self] _, new in
                assumeIsolated { $0.ownerChanged(to: new, id) }
            }
            session.isNameWatched = true
        }
        while true {
            let changes = session.ownerChanges
            let owner = try await bus.owner(of: session.id)
            // A change is told at once and an answer only when this task goes on, so the answer may be the older of the two.
            if changes == session.ownerChanges { return owner }
        }
    }

    func ownerChanged(to owner: BusName?, _ id: BusName) {
        guard let session = sessions[id] else { return }
        session.ownerChanges += 1
        handle(.ownerChanged(owner), session)
    }

    func launch(_ session: HandlerSession) {
        do throws(OpenURLError) {
            try checkQuarantine(of: session)
            let process = try launcher.launch(session.handler) { exit in
                self.processEnded(exit, session)
            }
            log.info("started", metadata: ["handler": "\(session.id)", "pid": "\(process.pid)"])
            hold(process, session)
            startLaunchTimer(session)
            for request in session.waiting {
                request.causedLaunch = true
                request.addPhase("processStarted")
            }
        } catch {
            handle(.launchFailed(error), session)
        }
    }

    func hold(_ process: ProcessHandle, _ session: HandlerSession) {
        session.process?.release()
        session.process = process
        session.isEnded = false
        session.since = UInt64(time(nil))
        session.machine.holdsProcess()
    }

    func processEnded(_ exit: ProcessExit, _ session: HandlerSession) {
        log.info("\(session.id) \(exit)", metadata: ["handler": "\(session.id)"])
        // A process that lost the race for the name ends too, and says nothing about the one that won.
        guard let process = session.process, process.exit != nil else { return }
        countCrash(exit, session)
        handle(.exited(exit), session)
    }

    /// Finds out which process owns the name: not always the one that was started.
    func identify(_ owner: BusName, _ session: HandlerSession) async {
        do {
            let credentials = try await bus.credentials(of: owner)
            guard session.owner == owner, let pid = credentials.pid else { return }
            if let process = session.process, process.exit == nil, UInt32(exactly: process.pid) == pid {
                session.isVerified = process.isChild || launcher.runsProgram(of: session.handler, pid: pid)
                return
            }
            let process = try launcher.adopt(pid: pid) { exit in
                self.processEnded(exit, session)
            }
            hold(process, session)
            // Anybody can take a free name. Who runs the handler's program is the handler, as far as that can be told.
            session.isVerified = launcher.runsProgram(of: session.handler, pid: pid)
            await askForState(session, owner)
        } catch {
            // It ended in the meantime, which the bus tells by itself.
            log.debug("\(session.id) cannot be watched: \(error)")
        }
    }

    func checkLaunch(of session: HandlerSession, _ owner: BusName) async {
        let phase: String
        do throws(CallError) {
            phase = try await bus.phase(of: session.id, at: owner, timeout: .seconds(1))
        } catch {
            // A handler in another language has no such property and no launch methods: it is ready when it owns its name.
            return
        }
        if HandlerInterface.launchPhases.contains(phase) {
            handle(.launchHangs(owner: owner, phase: phase), session)
        } else if session.owner == owner, !session.hasAnswered, !session.inHand.isEmpty, session.launchTimer == nil {
            startLaunchTimer(session)
        }
    }
}
