internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// The part of a handler's session that ``HandlerProcesses`` uses.
protocol ProcessesView: SessionView {
    var requests: RequestQueue { get }
    var foregroundCheck: ForegroundCheck { get }
    func wait(for time: Duration, until isReached: @escaping (HandlerStateMachine.State) -> Bool) async -> Bool
}

/// Finds one handler's process through the owner of the handler's name, adopts it, ends it, and remembers it after its
/// exit.
///
/// A handler never has two processes. This object belongs to the router's actor.
final class HandlerProcesses {
    private let id: BusName
    private let shared: SharedParts
    private let quarantine: Quarantine
    private let background: HandlerBackground
    private unowned let session: any ProcessesView

    /// The process that the handler has, or is about to have.
    var current = HandlerProcess()
    /// Watches who owns the name.
    let name: NameOwner
    /// Closed while the process is being started. During this time, events wait as well.
    let startGate = TaskGate()
    /// Closed while the router asks for the state of a process that another program has started.
    let stateGate = TaskGate()
    /// The last owner of the name that was examined and that may be reported to the machine.
    private var candidate: OwnerCandidate?
    /// The last owner of the name whose process the bus has reported. Behind a sandbox's proxy, the connection's
    /// process and the handler's process differ.
    private(set) var owner: (connection: BusName, pid: UInt32, handler: UInt32)?
    /// Whether a process has offered the lane for the handler, and the router has not considered the offer yet.
    private(set) var isLaneOffered = false
    /// The last process that exited, why the router killed it if it did, and when, in seconds since 1970; nil if none has.
    /// The bus may report the end of its requests after the kernel has reported the exit.
    private(set) var ended: (pid: CInt, exit: ProcessExit, output: ProcessOutput, reason: String?, time: UInt64)?
    /// The error for the requests that a process had in hand when the router killed it; nil after a crash. It outlives
    /// the process, because the bus reports the end of the process before the end of its requests.
    var verdict: OpenURLError?

    init(
        _ id: BusName,
        _ shared: SharedParts,
        _ quarantine: Quarantine,
        _ background: HandlerBackground,
        _ session: any ProcessesView
    ) {
        self.id = id
        self.shared = shared
        self.quarantine = quarantine
        self.background = background
        self.session = session
        name = NameOwner(id, shared)
    }

    /// Forgets the process, because it is gone.
    func forget() {
        current = HandlerProcess()
    }

    // MARK: The owner of the name

    /// Finds the owner of the name for a request, and reports it to the machine.
    func lookForOwner() async {
        let session = session
        // If this leads to a launch, it needs the session's variables, so ask for them at the same time.
        let update = session.machine.state == .lookingForOwner ? shared.launcher.session.startUpdate() : nil
        do throws(CallError) {
            // The machine is told about every change of owner, so a late answer does no harm.
            while let owner = try await currentOwner() {
                if try await examine(owner, { .found(owner: owner) }) { return }
            }
            await update?.value
            session.handle(.found(owner: nil))
        } catch {
            shared.log.error("the bus did not report the owner of \(id): \(error)")
            session.handle(.lookupFailed)
        }
    }

    /// Finds a process that this router did not start, if the handler has one and the router does not know about it.
    func find() async {
        let session = session
        guard session.machine.state == .notRunning else { return }
        do throws(CallError) {
            guard let owner = try await currentOwner(), session.machine.state == .notRunning else { return }
            try await examine(owner) { .ownerChanged(owner) }
        } catch {
            shared.log.error("the bus did not answer: \(error)")
        }
    }

    /// Handles a change of the name's owner.
    func ownerChanged(to owner: BusName?) {
        name.change(to: owner)
        // When a handler continues, it takes its name back on the connection that the router already knows.
        guard let owner, owner != session.machine.connection else { return session.handle(.ownerChanged(owner)) }
        session.startTask { [self] in
            do throws(CallError) {
                try await examine(owner) { .ownerChanged(owner) }
            } catch {
                shared.log.debug("the bus did not report the process of \(id): \(error)")
            }
        }
    }

    private func currentOwner() async throws(CallError) -> BusName? {
        let session = session
        return try await name.current { session.machine.state == .lookingForOwner }
    }

    /// Finds out whether a new owner of the name is the handler, and reports this to the machine. An owner that is
    /// another program gets nothing.
    ///
    /// - Parameter event: the machine's event if the owner is the handler.
    /// - Returns: false if the owner has changed in the meantime. The new one is examined separately.
    /// - Throws: the error if the bus does not answer, which says nothing about the owner.
    @discardableResult
    private func examine(
        _ owner: BusName,
        _ event: () -> HandlerStateMachine.Event
    ) async throws(CallError) -> Bool {
        let session = session
        let changes = name.changes
        let candidate = try await candidate(owner)
        guard changes == name.changes, let candidate else { return false }
        guard candidate.claim != nil else {
            session.handle(.foundStranger(strangerError(candidate)))
            return true
        }
        self.candidate = candidate
        session.handle(event())
        return true
    }

    /// Asks the bus for the process of an owner of the name.
    ///
    /// - Returns: nil if the owner has left the bus.
    private func candidate(_ owner: BusName) async throws(CallError) -> OwnerCandidate? {
        let session = session
        do throws(CallError) {
            let pid = try await shared.bus.credentials(of: owner).pid
            await startGate.wait()
            if let running = current.running, running.isOwn, UInt32(exactly: running.pid) == pid {
                let claim: OwnerClaim? = current.canHave(owner) ? .wasStarted : nil
                return OwnerCandidate(owner: owner, pid: pid, handler: pid, claim: claim)
            }
            let claim = await shared.launcher.recognition.claim(
                of: pid,
                session.handler,
                child: current.running.flatMap { $0.isOwn ? $0.pid : nil },
                runner: shared.runners[id]
            )
            return OwnerCandidate(
                owner: owner,
                pid: pid,
                handler: pid.flatMap(shared.launcher.recognition.process(behind:)),
                claim: current.canHave(owner) ? claim : nil
            )
        } catch .remote(let error) where error.name == .nameHasNoOwner {
            return nil
        }
    }

    private func strangerError(_ candidate: OwnerCandidate) -> OpenURLError {
        let path = candidate.pid.flatMap(ProcessProgram.path)
        let program = path.map { ", \(printable($0))" } ?? ""
        let manifest = session.handler.path
        if let pid = candidate.pid, URLOrigin.isProxy(path) {
            let sandbox = FlatpakInstance(pid: pid).map { "the sandbox of \(printable($0.application))" }
            return OpenURLError(
                .launchFailed,
                "the name \(id) belongs to \(sandbox ?? "an unknown sandbox"), behind process \(pid)\(program), and not to "
                    + "an application of \(manifest); close that application, and try again"
            )
        }
        let stranger = candidate.pid.map { "process \($0)\(program)" } ?? "an unknown process"
        return OpenURLError(
            .launchFailed,
            "the name \(id) belongs to \(stranger), which the router did not start and which does not run the program of \(manifest); "
                + "end that process, and try again"
        )
    }

    // MARK: The owner's process

    /// Watches the process that owns the name, which is not always the one that was started.
    func identify(_ owner: BusName) {
        let hadTasks = !current.tasks.isEmpty
        current = current.withNewConnection
        if hadTasks { background.recordTasks() }
        verdict = nil
        background.stopTimer()
        guard let candidate, candidate.owner == owner, let claim = candidate.claim else { return }
        current.claim = claim
        guard let connectionPID = candidate.pid else { return }
        let pid = candidate.handler ?? connectionPID
        self.owner = (owner, connectionPID, pid)
        if candidate.handler == nil { current.noteProxy(pid) }
        useLane()
        if let running = current.running, UInt32(exactly: running.pid) == pid { return }
        do throws(Errno) {
            try adopt(pid, claim)
        } catch {
            // The process has exited in the meantime. The bus will report this on its own, unless another process holds
            // the connection.
            shared.log.debug("\(id) cannot be watched: \(error)")
            if error == .noSuchProcess, session.machine.owner == owner, current.running == nil {
                let gone = CInt(truncatingIfNeeded: pid)
                // If the router has started the process, it may already know how the process ended.
                if ended?.pid != gone {
                    ended = (gone, ProcessExit.unknown, ProcessOutput.nowhere, nil, UInt64(time(nil)))
                }
                session.handle(.exited(.unknown))
            }
            return
        }
        // If the handler does not answer, it must not hold up the others.
        stateGate.close()
        session.startTask { [self, session] in
            await askForState(owner)
            stateGate.open()
            session.foregroundCheck.leaveIfUnused()
        }
    }

    /// Watches a process that this router did not start.
    private func adopt(_ pid: UInt32, _ claim: OwnerClaim) throws(Errno) {
        let adopted = try shared.launcher.adopt(pid: pid, of: session.handler.id, onExit: exitHandler)
        current.handle?.release()
        current.handle = adopted
        current.identity = ProcessIdentity(pid: pid)
        background.takeRecordedTasks()
        current.since = UInt64(time(nil))
        current.isEnded = false
        current.endReason = nil
        if !claim.isStrong {
            let isOfRunner = shared.runners[id]?.isAncestor(of: pid) == true
            shared.log.notice(
                isOfRunner ? "started by 'openurl run'" : "started by hand",
                metadata: ["handler": "\(id)", "pid": "\(pid)", "verified": "false"]
            )
        }
    }

    /// Asks for the state of a handler that another program started, because only the handler itself knows it.
    func askForState(_ owner: BusName) async {
        let session = session
        // Handlers in other languages need not report their state. If the user has started one by hand, assume that it
        // is on the screen.
        var state = current.isStartedByRouter ? HandlerState.background : .active
        do throws(CallError) {
            // If the user starts a handler, it has its name before it launches. It answers an empty notification only
            // after the launch.
            if !current.isStartedByRouter { try await shared.bus.notify([:], id, at: owner, timeout: .seconds(1)) }
            state = await reportedState(of: owner) ?? state
        } catch {
            shared.log.debug("\(id) did not take notifications: \(error)")
        }
        // A process that was started for its first message has not received that message yet.
        if state != .notRunning { session.handle(.tellsState(owner: owner, state)) }
    }

    /// Asks a handler for its state, and returns nil if it reports none. A handler in another language may lack the
    /// property.
    func reportedState(of owner: BusName) async -> HandlerState? {
        do throws(CallError) {
            return HandlerState(rawValue: try await shared.bus.state(of: id, at: owner, timeout: .seconds(1)))
        } catch {
            shared.log.debug("\(id) did not report its state: \(error)")
            return nil
        }
    }

    /// Returns the process if it runs a program other than the one that a launch would start now, or the same program
    /// with other arguments.
    func processOfEarlierProgram() async -> UInt32? {
        guard let running = current.running, let pid = UInt32(exactly: running.pid) else { return nil }
        let process = current
        let isEarlier = await process.runsEarlierProgram(than: session.handler, pid, shared.launcher.recognition)
        return isEarlier && process === current && process.running != nil ? pid : nil
    }

    // MARK: The lane

    /// Reaches the handler over the lane from now on, if its process has offered this. By then, URLs that went over the
    /// bus have been answered, so the order stays the same.
    func useLane() {
        guard let owner, owner.connection == session.machine.owner, session.requests.inHand.isEmpty else { return }
        guard let process = ProcessIdentity(pid: owner.pid) else { return }
        isLaneOffered = false
        shared.bus.attach(id, at: owner.connection, process)
    }

    /// Notes that a process has offered the lane for the handler.
    func offersLane() {
        isLaneOffered = true
        useLane()
    }

    // MARK: End

    /// Asks the process to exit.
    func terminate() {
        if current.terminate() { return }
        guard let owner = session.machine.connection else { return }
        session.startTask { await self.askToEnd(owner) }
    }

    /// Asks a process that the router may not end, such as one behind a sandbox's proxy, to exit.
    private func askToEnd(_ owner: BusName) async {
        do throws(CallError) {
            try await shared.bus.terminate(id, at: owner, timeout: shared.limits.endTimeout)
        } catch {
            shared.log.debug("\(id) did not exit when it was asked to: \(error)")
        }
    }

    /// Kills the process if it is the handler's own; otherwise, the router lets go of it.
    func kill() {
        if current.isRoutersToEnd, let pid = current.running?.pid {
            shared.log.notice("killed", metadata: ["handler": "\(id)", "pid": "\(pid)"])
        }
        if !current.kill() { session.handle(.released) }
    }

    /// Kills a process that should have exited by itself, as ``kill()`` does, and logs the reason.
    func killLate() {
        let isFirst = current.endReason == nil && (current.isAskedToEnd || !current.isEnded)
        if isFirst, current.isRoutersToEnd, current.running != nil {
            let time = shared.limits.endTimeout.inWords
            let reason: QuotingText =
                current.isAskedToEnd
                ? "it did not exit within \(time) of being asked to"
                : "it gave up its name on the bus, or said that it was exiting, but was still running \(time) later"
            shared.log.warning("\(reason)", metadata: ["handler": "\(id)"])
            current.endReason = reason.description
        }
        kill()
    }

    /// Ends the processes that the handler's process has left behind. If one of them holds its connection to the bus,
    /// the name has an owner that takes no URLs.
    func endDescendants() {
        // Only processes that the router starts have their own process session. Any other process's session belongs to
        // the user.
        guard current.claim == .wasStarted, let leader = current.handle?.pid else { return session.handle(.released) }
        let ended = ProcessSession.end(leader)
        shared.log.notice("killed what it left behind", metadata: ["handler": "\(id)", "processes": "\(ended)"])
        if ended == 0 { session.handle(.released) }
    }

    /// Handles a process's exit, and keeps the session alive until then.
    var exitHandler: (ProcessExit) -> Void {
        { [self, session] exit in
            guard isEnd(exit) else { return }
            // The session forgets the process next.
            // A suspended process does nothing that could fail, so something else has ended it.
            let wasSuspended = if case .suspended = session.machine.state { true } else { false }
            let isIntended = current.isUnwanted || current.isAskedToEnd || wasSuspended
            let hasFailed = !isIntended && exit != .exited(status: 0) && exit != .unknown
            let wasKilled = current.isEnded
            session.handle(.exited(exit))
            if hasFailed { shared.processFailed(id, wasKilled) }
        }
    }

    /// Notes a process's exit, and returns whether it means that the handler's process has ended.
    private func isEnd(_ exit: ProcessExit) -> Bool {
        shared.log.info("\(id) \(exit)", metadata: ["handler": "\(id)"])
        // A process that lost the race for the name exits too, which says nothing about the process that won.
        guard let handle = current.handle, let ownExit = handle.exit else { return false }
        ended = (handle.pid, ownExit, current.output, current.endReason, UInt64(time(nil)))
        if let owner, owner.handler == UInt32(exactly: handle.pid) { shared.bus.detach(owner.connection) }
        if !current.isEnded { quarantine.count(exit, isReady: session.machine.state != .starting) }
        return true
    }

    /// Returns the error for a request that a process had in hand when its connection ended.
    ///
    /// The bus can report the end of the connection before the kernel reports the process's exit, so this waits for the
    /// exit.
    func crashError(behind connection: BusName) async -> OpenURLError {
        let (exit, output) = await end(behind: connection)
        let words: QuotingText = exit.map { "\($0)" } ?? "left the bus"
        let hint = shared.withoutSecrets(output.hint(of: id.rawValue), of: id)
        return OpenURLError(
            .handlerCrashed,
            "\(id) \(words) before it answered; it may have acted on the URL\(hint)"
        )
    }

    /// Finds out how the process behind an ended connection exited, and where its output is. The exit is nil if the
    /// process is still running after a second.
    private func end(behind connection: BusName) async -> (exit: ProcessExit?, output: ProcessOutput) {
        guard let owner, owner.connection == connection else { return (.unknown, .nowhere) }
        let pid = CInt(truncatingIfNeeded: owner.handler)
        guard let handle = current.handle, handle.pid == pid else {
            guard let ended, ended.pid == pid else { return (.unknown, .nowhere) }
            return (ended.exit, ended.output)
        }
        let output = current.output
        _ = await session.wait(for: .seconds(1)) { _ in handle.exit != nil }
        return (handle.exit, output)
    }
}
