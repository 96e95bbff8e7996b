internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// One process of a handler: what the router knows of it, and does to it. A new process gets a new object, so nothing outlives its
/// process.
///
/// The object is there before the process is known: the owner of a name tells its process only when the bus is asked.
final class HandlerProcess {
    /// The process, or the proxy that hides it; nil until it is known, and after the router has let go of a process that it did not start.
    var handle: ProcessHandle?
    /// The process among all processes since the start of the system; nil if it had ended before the router looked.
    var identity: ProcessIdentity?
    /// The newest connection of the bus before this router started the process. The process itself has only newer ones, and an
    /// older one is of another process, whose number the kernel has given to this one.
    private let newestEarlierConnection: ConnectionNumber?
    /// The place of the output, if this router started the process.
    var output = ProcessOutput.nowhere
    /// The time at which the router first saw the process, in seconds since 1970.
    var since: UInt64?
    /// The handler as it was at the start, and the state of its program's file then; nil if another program or an earlier router
    /// started the process.
    var launched: (handler: Handler, version: FileVersion?)?
    /// The names other than the handler's that the process took, if its launch has used up its time limit.
    var otherNames: [BusName] = []
    /// Whether the router has ended the process, or has asked it to end.
    var isEnded = false
    /// Whether the user wants the process to end.
    var isUnwanted = false
    /// Whether the handle is that of a proxy, behind which nobody knows the process.
    private(set) var isHidden = false
    /// Whether the owner of the name has answered once, and so has launched.
    var hasAnswered = false
    /// The reason for which the process counts as the handler.
    var claim: OwnerClaim?
    /// The time at which the router last stopped the process; nil if it never has.
    private(set) var suspendedSince: ContinuousClock.Instant?
    /// Whether the handler can be asked to release its name, as far as it has not said otherwise.
    var isSuspendable = true
    /// The reason why the bus did not carry the last question whether the process can be suspended.
    var suspensionProblem: String?
    /// The end of the launch's time limit, if the router started the process.
    var launchDeadline: SuspendingClock.Instant?
    /// The time at which the handler was told to go to the background.
    var leavingSince: SuspendingClock.Instant?
    /// Whether the handler works on a URL whose time limit is over. It gets no other URL meanwhile.
    var isBusy = false
    /// The time of the first question of the watchdog that the process has not answered; nil after an answer.
    var silentSince: SuspendingClock.Instant?
    /// The time of the last answer to a request.
    private(set) var answeredAt: SuspendingClock.Instant?
    /// Whether a memory warning is on its way.
    var isWarned = false
    /// The stay in the background.
    var stay = BackgroundStay()
    /// The end of a pipe that the router holds while the process is stopped. The kernel continues the process when the
    /// router, and thus the end of the pipe, is gone.
    var lifeline: UnixFD?
    /// The names of the open background tasks, by their numbers.
    var tasks: [UInt32: String] = [:]
    /// The number of the background task that was begun last. The first number is random, because the handler may still end
    /// the tasks of an earlier router by their numbers.
    private var lastTask = UInt32.random(in: 0 ... .max)
    /// The senders of the URLs that have brought the process to the foreground.
    var returnPaths = ReturnPaths()
    /// The changes since the process was stopped: the latest value of each kind.
    var notifications = KeptNotifications()

    init(
        handle: ProcessHandle? = nil,
        identity: ProcessIdentity? = nil,
        newestEarlierConnection: ConnectionNumber? = nil,
        output: ProcessOutput = .nowhere,
        since: UInt64? = nil,
        claim: OwnerClaim? = nil
    ) {
        self.handle = handle
        self.identity = identity
        self.newestEarlierConnection = newestEarlierConnection
        self.output = output
        self.since = since
        self.claim = claim
    }

    /// The process, while it runs.
    var running: ProcessHandle? {
        guard let handle, handle.exit == nil else { return nil }
        return handle
    }

    /// Whether a connection can be the process's own.
    func canHave(_ connection: BusName) -> Bool {
        guard let newestEarlierConnection, let number = ConnectionNumber(connection) else { return true }
        return number > newestEarlierConnection
    }

    /// Whether a debugger or a person holds the process.
    var isHeld: Bool { running.map { ProcessState.isHeld(pid: $0.pid) } ?? false }

    /// Whether this router started the process.
    var isChild: Bool { handle?.isChild == true }

    /// Whether this router or an earlier one started the process for the handler, or a program that has started the process.
    var isStartedByRouter: Bool { claim?.isStrong == true }

    /// Whether the process is the router's to end. The proxy of a sandbox is not.
    var isRoutersToEnd: Bool { claim == .wasStarted || claim == .runsProgram }

    // MARK: Suspension

    /// Stops the process.
    func stop() {
        suspendedSince = .now
        handle?.send(signal: SIGSTOP)
    }

    /// Continues the process.
    func resume() {
        handle?.send(signal: SIGCONT)
        lifeline = nil
    }

    /// The reason not to suspend the process, to be read after the handler's name; nil if there is none.
    var reasonNotToSuspend: String? {
        if let task = tasks.values.first { return "its background task '\(task)' is open" }
        // A person who started a handler by hand does not expect that it stops.
        if !isStartedByRouter { return "the router did not start it" }
        if !isSuspendable { return suspensionProblem ?? "it does not implement \(HandlerInterface.name).Suspend" }
        return nil
    }

    /// Begins a background task.
    ///
    /// - Returns: the number of the task.
    func beginTask(_ name: String) -> UInt32 {
        repeat { lastTask &+= 1 } while tasks[lastTask] != nil
        tasks[lastTask] = name
        return lastTask
    }

    // MARK: End

    /// Asks the process to end, if it is the router's to end.
    ///
    /// - Returns: whether it is.
    func terminate() -> Bool {
        isEnded = isRoutersToEnd
        if isRoutersToEnd { handle?.send(signal: SIGTERM) }
        return isRoutersToEnd
    }

    /// Kills the process if it is the router's to end, or else the processes of the session that it descends from.
    ///
    /// - Returns: false if the router has let go of the process, which is not the handler's own.
    func kill() -> Bool {
        isEnded = true
        guard let running else { return true }
        if isRoutersToEnd {
            running.kill()
            return true
        }
        if claim == .descends, ProcessSession.end(getsid(running.pid)) > 0 { return true }
        running.release()
        handle = nil
        return false
    }

    // MARK: The program

    /// Whether the process runs another program than a launch of the handler would start now, or the same program with other
    /// arguments.
    ///
    /// The router knows the start of its own processes only. Any other process tells its program, and a script may have
    /// started that. So a file that is gone counts, and so does another program that a person has started by hand.
    func runsEarlierProgram(than handler: Handler, _ pid: UInt32, _ launcher: HandlerLauncher) async -> Bool {
        if ProcessProgram.isReplaced(pid: pid) { return true }
        if let launched {
            let former = launched.handler
            if former.program != handler.program || former.manifest.arguments != handler.manifest.arguments
                || former.manifest.environment != handler.manifest.environment
            {
                return true
            }
            return await launcher.programVersion(of: handler).map { $0 != launched.version } ?? false
        }
        return claim == .runsProgram ? await !launcher.runsProgram(of: handler, pid: pid) : false
    }

    /// The names that the process took instead of the handler's, in words; at most three of them.
    var otherNamesInWords: QuotingText {
        guard !otherNames.isEmpty else { return "" }
        var words = otherNames.prefix(3).map(\.rawValue)
        let rest = otherNames.count - words.count
        if rest > 0 { words.append(rest == 1 ? "1 other" : "\(rest) others") }
        return ", but took \(words.joined(separator: " and "))"
    }

    // MARK: The connection

    /// Notes that the process is a proxy, behind which nobody knows the handler's own.
    func noteProxy(_ pid: UInt32) {
        isHidden = true
        isSuspendable = false
        suspensionProblem = "process \(pid), the proxy of its sandbox, hides which process it is"
    }

    /// Notes the answer to a request. A handler that has just answered is not silent, even if an earlier question is still open.
    func noteAnswer(_ answer: Result<OpenAnswer, CallError>) {
        if case .failure(.timedOut) = answer { return }
        silentSince = nil
        answeredAt = .now
    }

    /// The same process behind another connection: only the facts about the process itself stay.
    var withNewConnection: HandlerProcess {
        let process = HandlerProcess(
            handle: handle,
            identity: identity,
            newestEarlierConnection: newestEarlierConnection,
            output: output,
            since: since,
            claim: claim
        )
        process.isEnded = isEnded
        process.launched = launched
        process.launchDeadline = launchDeadline
        process.returnPaths = returnPaths
        return process
    }
}
