internal import DBus
internal import DequeModule
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// The handler's process: found, started, identified, ended.
extension HandlerSession {
    // MARK: The owner of the name

    func lookForOwner() async {
        // A launch needs the session's variables, which are asked for at the same time.
        let update = machine.state == .lookingForOwner ? host.launcher.session.startUpdate() : nil
        do throws(CallError) {
            let owner = try await currentOwner()
            // The machine is told every change of the owner, so this answer may be late.
            if owner == nil { await update?.value }
            handle(.found(owner: owner))
        } catch {
            host.log.error("the bus does not tell the owner of \(id): \(error)")
            handle(.lookupFailed)
        }
    }

    /// Asks the bus for the owner of the handler's name. From then on the machine is told every change.
    func currentOwner() async throws(CallError) -> BusName? {
        if nameWatch == nil {
            let (id, ownerChanged) = (id, host.ownerChanged)
            let watch = try await host.bus.watchOwner(of: id) { _, new in ownerChanged(id, new) }
            // Another task may have asked at the same time.
            if nameWatch == nil { nameWatch = watch } else { host.bus.unwatchOwner(watch) }
        }
        while true {
            let changes = ownerChanges
            let owner = try await host.bus.owner(of: id)
            // A change is told at once, and the answer only when this task continues. The answer may be the older of the two.
            if changes == ownerChanges { return owner }
        }
    }

    func ownerChanged(to owner: BusName?) {
        ownerChanges += 1
        handle(.ownerChanged(owner))
    }

    /// Finds a process that this router did not start, if the handler has one and the session does not know it.
    func findProcess() async {
        guard machine.state == .notRunning else { return }
        do throws(CallError) {
            guard let owner = try await currentOwner(), machine.state == .notRunning else { return }
            ownerChanged(to: owner)
            await identify(owner)
        } catch {
            host.log.error("the bus does not answer: \(error)")
        }
    }

    /// Finds out which process owns the name: not always the process that was started.
    func identify(_ owner: BusName) async {
        do {
            let credentials = try await host.bus.credentials(of: owner)
            guard let pid = credentials.pid else { return }
            ownerProcess = (owner, pid)
            guard self.owner == owner else { return }
            if let running = process.running, UInt32(exactly: running.pid) == pid {
                if !process.isStartedByRouter { process.runsProgram = host.launcher.runsProgram(of: handler, pid: pid) }
                return
            }
            let adopted = try host.launcher.adopt(pid: pid, of: handler.id) { exit in self.processEnded(exit) }
            process.handle?.release()
            process.handle = adopted
            process.since = UInt64(time(nil))
            process.isEnded = false
            process.isRecorded = host.launcher.records?.contain(pid, of: handler.id) ?? false
            process.runsProgram = host.launcher.runsProgram(of: handler, pid: pid)
            // A handler that does not answer must not hold up the others.
            stateWaiters = stateWaiters ?? []
            host.tasks.start {
                await self.askForState(owner)
                self.resumeStateWaiters()
            }
        } catch {
            // The process has ended in the meantime, which the bus tells by itself, unless another process holds the connection.
            host.log.debug("\(id) cannot be watched: \(error)")
            if error as? Errno == .noSuchProcess, self.owner == owner, process.running == nil {
                handle(.exited(.unknown))
            }
        }
    }

    /// Asks a handler that another program started for its state, which only the handler knows.
    func askForState(_ owner: BusName) async {
        // A handler in another language need not tell. A person who has started a handler by hand looks at it.
        var state = process.isRecorded ? HandlerState.background : .active
        do throws(CallError) {
            let answer = try await host.bus.state(of: id, at: owner, timeout: .seconds(1))
            state = HandlerState(rawValue: answer) ?? state
        } catch {
            host.log.debug("\(id) does not say its state: \(error)")
        }
        // A process that was started for its first message has not got the message yet.
        if state != .notRunning { handle(.tellsState(owner: owner, state)) }
    }

    /// Waits until the handler has told its state, if the router is asking for it. Without the state, the router could take
    /// a handler in the foreground for one in the background, and stop it.
    func waitForState() async {
        guard stateWaiters != nil else { return }
        await withCheckedContinuation { continuation in
            if stateWaiters == nil { continuation.resume() } else { stateWaiters?.append(continuation) }
        }
    }

    private func resumeStateWaiters() {
        let waiting = stateWaiters ?? []
        stateWaiters = nil
        for continuation in waiting { continuation.resume() }
    }

    // MARK: Launch

    func launch() {
        do throws(OpenURLError) {
            try checkQuarantine()
            // A toolkit takes the tokens from the environment of its process, before it gets the first message.
            let tokens = requests.waiting.lazy.map(\.options.tokenVariables).first { !$0.isEmpty }
            let caller = requests.waiting.lazy.compactMap(\.caller).first
            let started = try host.launcher.launch(handler, tokens ?? [:], for: caller) { exit in
                self.processEnded(exit)
            }
            host.log.info("started", metadata: ["handler": "\(id)", "pid": "\(started.handle.pid)"])
            process = HandlerProcess(handle: started.handle, output: started.output, since: UInt64(time(nil)))
            startLaunchTimer()
            for request in requests.waiting {
                request.causedLaunch = true
                request.addPhase("processStarted")
            }
        } catch {
            handle(.launchFailed(error))
        }
    }

    func startLaunchTimer() {
        process.launchDeadline = .now + machine.launchTimeout
        launchTimer.start(in: machine.launchTimeout) {
            if self.process.isHeld { self.startLaunchTimer() } else { self.launchTimeIsOver() }
        }
    }

    func finishLaunch(_ owner: BusName) {
        guard self.owner == owner else { return }
        process.hasAnswered = true
        launchTimer.cancel()
    }

    // MARK: End

    /// Kills the handler's own process. The router lets go of any other process.
    func killProcess() {
        guard let handle = process.running else { return }
        if process.isVerified {
            host.log.notice("killed", metadata: ["handler": "\(id)", "pid": "\(handle.pid)"])
            return handle.kill()
        }
        handle.release()
        process.handle = nil
        self.handle(.released)
    }

    /// Ends the processes that the handler's process has left behind. One of them holds its connection to the bus, so the name
    /// has an owner that takes no URLs.
    func endDescendants() {
        // The router starts each process in a session of its own. The session of any other process is a person's.
        guard process.isStartedByRouter, let leader = process.handle?.pid else { return handle(.released) }
        let ended = ProcessSession.end(leader)
        host.log.notice("killed what it left behind", metadata: ["handler": "\(id)", "processes": "\(ended)"])
        if ended == 0 { handle(.released) }
    }

    private func processEnded(_ exit: ProcessExit) {
        host.log.info("\(id) \(exit)", metadata: ["handler": "\(id)"])
        // A process that lost the race for the name ends too, and says nothing about the process that won.
        guard let handle = process.handle, handle.exit != nil else { return }
        countCrash(exit)
        self.handle(.exited(exit))
    }
}
