internal import CLinux
internal import DBus
internal import DequeModule
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// The part of a handler's session that ``HandlerLaunch`` uses.
protocol LaunchView: SessionView {
    var requests: RequestQueue { get }
    /// Handles the events that were held back while the process was being started.
    func handleEvents()
}

/// Launches a handler's process: starts it, waits until it has the handler's name, and puts a failure into words.
///
/// It belongs to the router's actor.
final class HandlerLaunch {
    private let id: BusName
    private let shared: SharedParts
    private let quarantine: Quarantine
    private let timers: HandlerTimers
    private let processes: HandlerProcesses
    private unowned let session: any LaunchView

    init(
        _ id: BusName,
        _ shared: SharedParts,
        _ quarantine: Quarantine,
        _ timers: HandlerTimers,
        _ processes: HandlerProcesses,
        _ session: any LaunchView
    ) {
        self.id = id
        self.shared = shared
        self.quarantine = quarantine
        self.timers = timers
        self.processes = processes
        self.session = session
    }

    private var timeLimit: Duration { session.machine.launchTimeout }

    // MARK: Start

    /// Starts the process. Until it is running or its start has failed, the session handles no events, because the
    /// process itself may cause the next one.
    func start() {
        guard shared.runners[id] == nil else { return waitForRunProgram() }
        processes.startGate.close()
        session.startTask { [self] in
            let newest = shared.bus.newestConnection
            let started: Result<(process: StartedProcess, handler: Handler), OpenURLError>
            do throws(OpenURLError) {
                started = .success(try await startProcess())
            } catch {
                started = .failure(error)
            }
            processes.startGate.open {
                switch started {
                case .success(let (process, handler)): processStarted(process, of: handler, newest)
                case .failure(let error): session.handle(.launchFailed(error))
                }
            }
            session.handleEvents()
        }
    }

    private func startProcess() async throws(OpenURLError) -> (process: StartedProcess, handler: Handler) {
        let session = session
        try await quarantine.check(session.handler)
        // A registration may change the handler during the start.
        let handler = session.handler
        // Toolkits take the tokens from the environment of their process, before the process gets its first message.
        // A request that is not complete may still be refused, and then its token is for no one.
        let waiting = session.requests.waiting
        let tokens = waiting.lazy.filter(\.isComplete).map(\.options.tokenVariables).first { !$0.isEmpty }
        let caller = waiting.lazy.compactMap(\.caller).first
        let started = try await shared.launcher.launch(
            handler,
            tokens ?? [:],
            for: caller,
            within: timeLimit,
            onExit: processes.exitHandler
        )
        return (started, handler)
    }

    private func processStarted(
        _ started: StartedProcess,
        of handler: Handler,
        _ newest: ConnectionNumber?
    ) {
        shared.log.info("started", metadata: ["handler": "\(id)", "pid": "\(started.handle.pid)"])
        quarantine.noteProgram(started.version)
        let process = HandlerProcess(
            handle: started.handle,
            identity: UInt32(exactly: started.handle.pid).flatMap(ProcessIdentity.init(pid:)),
            newestEarlierConnection: newest,
            output: started.output,
            since: UInt64(time(nil)),
            claim: .wasStarted
        )
        process.launched = (handler, started.version, started.fault)
        process.weight = .foreground
        processes.current = process
        startTimer()
        // A launch into the background shows nothing.
        if let shown = session.requests.waiting.first(where: \.bringsToForeground) {
            shared.launches.began(id, shown.scheme)
        }
        for request in session.requests.waiting {
            request.causedLaunch = true
            request.addPhase("processStarted")
        }
    }

    /// Waits until the program that `openurl run` has started takes the handler's name.
    private func waitForRunProgram() {
        processes.current = HandlerProcess()
        timers.launch.start(in: timeLimit) { [self, session] in
            let fail = { [self, session] in session.handle(.launchFailed(runError())) }
            guard session.machine.state == .starting, let runner = shared.runners[id] else { return fail() }
            findOtherNames(of: { pid in UInt32(exactly: pid).map(runner.isAncestor) == true }, then: fail)
        }
    }

    // MARK: The time limit

    /// Starts the timer for the launch.
    func startTimer() {
        processes.current.launchDeadline = .now + timeLimit
        timers.launch.start(in: timeLimit) { [self, session] in
            if session.process.isHeld { startTimer() } else { timeIsOver() }
        }
    }

    /// Ends the launch, because its time is up. If the handler's name has no owner, this first asks the bus which other
    /// names the process has taken.
    private func timeIsOver() {
        guard session.machine.state == .starting, let running = processes.current.running else {
            return session.handle(.launchTimedOut)
        }
        // This matches the process that the router started, and its descendants.
        findOtherNames(of: { getsid($0) == running.pid }) { [session] in session.handle(.launchTimedOut) }
    }

    // MARK: Other names

    /// Asks the bus which names the given processes own. This takes at most ``RouterLimits/otherNamesTime``, and stops
    /// if the handler's name gets an owner.
    ///
    /// - Parameter finish: called once, with the names in ``HandlerProcess/otherNames``; not called if the launch ends
    ///   in the meantime.
    private func findOtherNames(of isMeant: @escaping (pid_t) -> Bool, then finish: @escaping () -> Void) {
        let launched = processes.current
        timers.launch.start(in: shared.limits.otherNamesTime, finish)
        session.startTask { [self] in
            await findOtherNames(of: isMeant, for: launched)
            guard isWaitingForNames(launched) else { return }
            timers.launch.cancel()
            finish()
        }
    }

    /// Returns whether there is still time to ask the bus for the names of a process.
    private func isWaitingForNames(_ launched: HandlerProcess) -> Bool {
        session.machine.state == .starting && processes.current === launched && timers.launch.isRunning
    }

    /// Finds the names that the given processes own. If the time runs out, the names found so far are kept.
    private func findOtherNames(of isMeant: (pid_t) -> Bool, for launched: HandlerProcess) async {
        launched.otherNames = []
        do throws(CallError) {
            for name in try await shared.bus.names().sorted(by: { $0.rawValue < $1.rawValue }) where !name.isUnique {
                guard isWaitingForNames(launched) else { return }
                let isOwned = try await isOwned(name, by: isMeant)
                if isOwned, isWaitingForNames(launched) { launched.otherNames.append(name) }
            }
        } catch {
            shared.log.debug("the bus did not report the names that \(id) took: \(error)")
        }
    }

    private func isOwned(_ name: BusName, by isMeant: (pid_t) -> Bool) async throws(CallError) -> Bool {
        do throws(CallError) {
            return try await shared.bus.credentials(of: name).pid.flatMap { pid_t(exactly: $0) }.map(isMeant) == true
        } catch .remote {
            // The name has lost its owner.
            return false
        }
    }

    // MARK: Words

    /// Returns the error for the requests that wait for a launch that has failed.
    func error(of failure: HandlerStateMachine.LaunchFailure) -> OpenURLError {
        let process = processes.current
        let hint = shared.withoutSecrets(process.output.hint(of: id.rawValue), of: id)
        switch failure {
        case .processEnded(.exited(126...127)) where process.launched?.fault != nil:
            let fault = process.launched?.fault?.description ?? ""
            return OpenURLError(.launchFailed, "\(id) cannot be started: \(fault)")
        case .processEnded(let exit):
            // A program that fails reports the reason itself.
            let advice: QuotingText = exit == .exited(status: 0) ? Self.commandAdvice : ""
            return OpenURLError(.launchFailed, "\(id) \(exit) before it was ready\(hint)\(advice)")
        case .nameNotTaken:
            let advice: QuotingText =
                process.otherNames.isEmpty
                ? Self.commandAdvice : "; give the program the identifier that its manifest has"
            return OpenURLError(
                .timedOut,
                "\(id) did not take its name on the bus within \(timeLimit.inWords) of its start\(process.otherNamesInWords); "
                    + "its process was killed\(hint)\(advice)"
            )
        }
    }

    private static let commandAdvice: QuotingText =
        "; if it is a command that only gets the URL as an argument, name it in OUCommand"

    private func runError() -> OpenURLError {
        OpenURLError(
            .launchFailed,
            "the program that 'openurl run' started did not take the name \(id) on the bus within "
                + "\(timeLimit.inWords)\(processes.current.otherNamesInWords); "
                + "it must take the name that --handler or its manifest gives"
        )
    }
}
