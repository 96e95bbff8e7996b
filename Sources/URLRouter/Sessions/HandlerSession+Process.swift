internal import CLinux
internal import DBus
internal import DequeModule
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// The handler's process: found, started, identified, ended.
extension HandlerSession {
    // MARK: The owner of the name

    func lookForOwner() async {
        // A launch needs the session's variables, which are asked for at the same time.
        let update = machine.state == .lookingForOwner ? host.launcher.session.startUpdate() : nil
        do throws(CallError) {
            // The machine is told every change of the owner, so this answer may be late.
            while let owner = try await currentOwner() {
                if await examine(owner, { .found(owner: owner) }) { return }
            }
            await update?.value
            handle(.found(owner: nil))
        } catch {
            host.log.error("the bus did not report the owner of \(id): \(error)")
            handle(.lookupFailed)
        }
    }

    private func currentOwner() async throws(CallError) -> BusName? {
        try await name.current { machine.state == .lookingForOwner }
    }

    func ownerChanged(to owner: BusName?) {
        name.change(to: owner)
        // A handler that continues takes its name back on the connection that the router knows.
        guard let owner, owner != machine.connection else { return handle(.ownerChanged(owner)) }
        host.tasks.start { await self.examine(owner) { .ownerChanged(owner) } }
    }

    /// Finds out whether a new owner of the name is the handler, and tells the machine. A stranger gets nothing.
    ///
    /// - Parameter event: the machine's event if the owner is the handler.
    /// - Returns: false if the owner has changed meanwhile. The new owner is examined by itself.
    @discardableResult
    private func examine(_ owner: BusName, _ event: () -> HandlerStateMachine.Event) async -> Bool {
        let changes = name.changes
        let candidate = await candidate(owner)
        guard changes == name.changes else { return false }
        guard let candidate, candidate.claim != nil else {
            handle(.foundStranger(strangerError(candidate)))
            return true
        }
        self.candidate = candidate
        handle(event())
        return true
    }

    /// Asks the bus for the process of an owner of the name.
    ///
    /// - Returns: nil if the bus does not tell the process.
    private func candidate(_ owner: BusName) async -> OwnerCandidate? {
        do throws(CallError) {
            let pid = try await host.bus.credentials(of: owner).pid
            await startGate.wait()
            if let running = process.running, running.isChild, UInt32(exactly: running.pid) == pid {
                let claim: OwnerClaim? = process.canHave(owner) ? .wasStarted : nil
                return OwnerCandidate(owner: owner, pid: pid, handler: pid, claim: claim)
            }
            let claim = await host.launcher.claim(
                of: pid,
                handler,
                child: process.running?.pid,
                runner: host.runners[id]
            )
            return OwnerCandidate(
                owner: owner,
                pid: pid,
                handler: pid.flatMap(host.launcher.process(behind:)),
                claim: process.canHave(owner) ? claim : nil
            )
        } catch {
            host.log.debug("the bus did not report the process of \(id): \(error)")
            return nil
        }
    }

    private func strangerError(_ candidate: OwnerCandidate?) -> OpenURLError {
        let path = candidate?.pid.flatMap(ProcessProgram.path)
        let program = path.map { ", \(printable($0))" } ?? ""
        if let pid = candidate?.pid, URLOrigin.isProxy(path) {
            let sandbox = FlatpakInstance(pid: pid).map { "the sandbox of \(printable($0.application))" }
            return OpenURLError(
                .launchFailed,
                "the name \(id) belongs to \(sandbox ?? "an unknown sandbox"), behind process \(pid)\(program), and not to "
                    + "an application of \(handler.path); close that application, and try again"
            )
        }
        let stranger = candidate?.pid.map { "process \($0)\(program)" } ?? "an unknown process"
        return OpenURLError(
            .launchFailed,
            "the name \(id) belongs to \(stranger), which the router did not start and which does not run the program of \(handler.path); "
                + "end that process, and try again"
        )
    }

    /// Finds a process that this router did not start, if the handler has one and the session does not know it.
    func findProcess() async {
        guard machine.state == .notRunning else { return }
        do throws(CallError) {
            guard let owner = try await currentOwner(), machine.state == .notRunning else { return }
            await examine(owner) { .ownerChanged(owner) }
        } catch {
            host.log.error("the bus did not answer: \(error)")
        }
    }

    /// Watches the process that owns the name, which is not always the process that was started.
    func identify(_ owner: BusName) {
        guard let candidate, candidate.owner == owner, let claim = candidate.claim else { return }
        process.claim = claim
        guard let connectionPID = candidate.pid else { return }
        let pid = candidate.handler ?? connectionPID
        ownerProcess = (owner, connectionPID, pid)
        if candidate.handler == nil {
            process.isHidden = true
            process.isSuspendable = false
            process.suspensionProblem = "process \(pid), the proxy of its sandbox, hides which process it is"
        }
        useLane()
        if let running = process.running, UInt32(exactly: running.pid) == pid { return }
        do throws(Errno) {
            let adopted = try host.launcher.adopt(pid: pid, of: handler.id) { exit in self.processEnded(exit) }
            process.handle?.release()
            process.handle = adopted
            process.identity = ProcessIdentity(pid: pid)
            background.takeRecordedTasks()
            process.since = UInt64(time(nil))
            process.isEnded = false
            if !claim.isStrong {
                let isOfRunner = host.runners[id]?.isAncestor(of: pid) == true
                host.log.notice(
                    isOfRunner ? "started by 'openurl run'" : "started by hand",
                    metadata: ["handler": "\(id)", "pid": "\(pid)", "verified": "false"]
                )
            }
            // A handler that does not answer must not hold up the others.
            stateGate.close()
            host.tasks.start {
                await self.askForState(owner)
                self.stateGate.open()
            }
        } catch {
            // The process has ended in the meantime, which the bus tells by itself, unless another process holds the connection.
            host.log.debug("\(id) cannot be watched: \(error)")
            if error == .noSuchProcess, self.owner == owner, process.running == nil { handle(.exited(.unknown)) }
        }
    }

    /// Reaches the handler over the lane from now on, if its process has offered that. URLs that went over the bus have their answers
    /// before, so the order holds.
    func useLane() {
        guard let ownerProcess, ownerProcess.owner == owner, requests.inHand.isEmpty else { return }
        guard let process = ProcessIdentity(pid: ownerProcess.pid) else { return }
        laneIsOffered = false
        host.bus.attach(id, at: ownerProcess.owner, process)
    }

    /// Notes that a process has offered the lane for the handler.
    func offersLane() {
        laneIsOffered = true
        useLane()
    }

    /// Asks a handler that another program started for its state, which only the handler knows.
    func askForState(_ owner: BusName) async {
        // A handler in another language need not tell. A person who has started a handler by hand looks at it.
        var state = process.isStartedByRouter ? HandlerState.background : .active
        do throws(CallError) {
            // A handler that a person has started has its name before it launches. It answers a notification of nothing after that.
            if !process.isStartedByRouter { try await host.bus.notify([:], id, at: owner, timeout: .seconds(1)) }
            let answer = try await host.bus.state(of: id, at: owner, timeout: .seconds(1))
            state = HandlerState(rawValue: answer) ?? state
        } catch {
            host.log.debug("\(id) did not report its state: \(error)")
        }
        // A process that was started for its first message has not got the message yet.
        if state != .notRunning { handle(.tellsState(owner: owner, state)) }
    }

    // MARK: Launch

    /// Starts the process. The session takes no event into account until the process is there, or until its start has failed:
    /// the process itself may cause the next event.
    func launch() {
        guard host.runners[id] == nil else { return waitForRunProgram() }
        startGate.close()
        host.tasks.start {
            let newest = self.host.bus.newestConnection
            let started: Result<(process: StartedProcess, handler: Handler), OpenURLError>
            do throws(OpenURLError) {
                started = .success(try await self.startProcess())
            } catch {
                started = .failure(error)
            }
            self.startGate.open {
                switch started {
                case .success(let (process, handler)): self.processStarted(process, of: handler, newest)
                case .failure(let error): self.handle(.launchFailed(error))
                }
            }
            self.handleEvents()
        }
    }

    /// Waits until the program that `openurl run` has started takes the handler's name.
    private func waitForRunProgram() {
        process = HandlerProcess()
        timers.launch.start(in: machine.launchTimeout) {
            guard self.machine.state == .starting, let runner = self.host.runners[self.id] else {
                return self.handle(.launchFailed(self.runError()))
            }
            self.findOtherNames(of: { pid in UInt32(exactly: pid).map(runner.isAncestor) == true }) {
                self.handle(.launchFailed(self.runError()))
            }
        }
    }

    private func runError() -> OpenURLError {
        OpenURLError(
            .launchFailed,
            "the program that 'openurl run' started did not take the name \(id) on the bus within "
                + "\(machine.launchTimeout.inWords)\(otherNames); it must take the name that --handler or its manifest gives"
        )
    }

    /// Ends the program whose claim has ended, and everything that waits for it.
    func claimEnded() {
        process.isUnwanted = true
        handle(.terminated)
    }

    private func startProcess() async throws(OpenURLError) -> (process: StartedProcess, handler: Handler) {
        try await quarantine.check(handler)
        // A registration may change the handler during the start.
        let handler = handler
        // A toolkit takes the tokens from the environment of its process, before it gets the first message.
        let tokens = requests.waiting.lazy.map(\.options.tokenVariables).first { !$0.isEmpty }
        let caller = requests.waiting.lazy.compactMap(\.caller).first
        let limit = machine.launchTimeout
        let started = try await host.launcher.launch(handler, tokens ?? [:], for: caller, within: limit) { exit in
            self.processEnded(exit)
        }
        return (started, handler)
    }

    private func processStarted(
        _ started: StartedProcess,
        of handler: Handler,
        _ newest: ConnectionNumber?
    ) {
        host.log.info("started", metadata: ["handler": "\(id)", "pid": "\(started.handle.pid)"])
        quarantine.noteProgram(started.version)
        process = HandlerProcess(
            handle: started.handle,
            identity: UInt32(exactly: started.handle.pid).flatMap(ProcessIdentity.init(pid:)),
            newestEarlierConnection: newest,
            output: started.output,
            since: UInt64(time(nil)),
            claim: .wasStarted
        )
        process.launched = (handler, started.version)
        startLaunchTimer()
        for request in requests.waiting {
            request.causedLaunch = true
            request.addPhase("processStarted")
        }
    }

    func startLaunchTimer() {
        process.launchDeadline = .now + machine.launchTimeout
        timers.launch.start(in: machine.launchTimeout) {
            if self.process.isHeld { self.startLaunchTimer() } else { self.launchTimeIsOver() }
        }
    }

    func finishLaunch(_ owner: BusName) {
        guard self.owner == owner else { return }
        process.hasAnswered = true
        timers.launch.cancel()
    }

    // MARK: Another program

    /// The process, if it runs another program than a launch would start now, or the same program with other arguments.
    ///
    /// The router knows the start of its own processes only. Any other process tells its program, and a script may have
    /// started that. So a file that is gone counts, and so does another program that a person has started by hand.
    func processOfEarlierProgram() async -> UInt32? {
        guard let running = process.running, let pid = UInt32(exactly: running.pid) else { return nil }
        let process = process
        var isEarlier = ProcessProgram.isReplaced(pid: pid)
        if !isEarlier, let launched = process.launched {
            let (former, current) = (launched.handler, handler)
            isEarlier =
                former.program != current.program || former.manifest.arguments != current.manifest.arguments
                || former.manifest.environment != current.manifest.environment
            if !isEarlier, let version = await host.launcher.programVersion(of: current) {
                isEarlier = version != launched.version
            }
        } else if !isEarlier, process.claim == .runsProgram {
            isEarlier = await !host.launcher.runsProgram(of: handler, pid: pid)
        }
        return isEarlier && process === self.process && process.running != nil ? pid : nil
    }

    // MARK: End

    /// Kills the handler's own process. The router lets go of any other process.
    func killProcess() {
        guard let handle = process.running else { return }
        if process.isRoutersToEnd {
            host.log.notice("killed", metadata: ["handler": "\(id)", "pid": "\(handle.pid)"])
            return handle.kill()
        }
        if process.claim == .descends, ProcessSession.end(getsid(handle.pid)) > 0 { return }
        handle.release()
        process.handle = nil
        self.handle(.released)
    }

    /// Ends the processes that the handler's process has left behind. One of them holds its connection to the bus, so the name
    /// has an owner that takes no URLs.
    func endDescendants() {
        // The router starts each process in a session of its own. The session of any other process is a person's.
        guard process.claim == .wasStarted, let leader = process.handle?.pid else { return handle(.released) }
        let ended = ProcessSession.end(leader)
        host.log.notice("killed what it left behind", metadata: ["handler": "\(id)", "processes": "\(ended)"])
        if ended == 0 { handle(.released) }
    }

    private func processEnded(_ exit: ProcessExit) {
        host.log.info("\(id) \(exit)", metadata: ["handler": "\(id)"])
        // A process that lost the race for the name ends too, and says nothing about the process that won.
        guard let handle = process.handle, handle.exit != nil else { return }
        if let ownerProcess, ownerProcess.handler == UInt32(exactly: handle.pid) { host.bus.detach(ownerProcess.owner) }
        if !process.isEnded { quarantine.count(exit, isReady: machine.state != .starting) }
        self.handle(.exited(exit))
    }
}
