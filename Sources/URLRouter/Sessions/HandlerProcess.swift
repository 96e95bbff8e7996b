internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// One of a handler's processes: what the router knows about it, and does with it. A new process gets a new object, so
/// nothing outlives its process.
///
/// The object exists before the process is known, because the bus has to be asked which process owns a name.
final class HandlerProcess {
    /// The process, or the proxy that hides it; nil until it is known, and after the router has let go of a process
    /// that it did not start.
    var handle: ProcessHandle?
    /// Identifies the process among all processes since the system was booted; nil if it had exited before the router
    /// looked.
    var identity: ProcessIdentity?
    /// The newest connection to the bus before this router started the process. All the process's connections are
    /// newer. A connection that is older belongs to an earlier process whose process ID the kernel has reused for this
    /// one.
    private let newestEarlierConnection: ConnectionNumber?
    /// Where its output goes, if this router started the process.
    var output = ProcessOutput.nowhere
    /// When the router first saw the process, in seconds since 1970.
    var since: UInt64?
    /// The handler and its program's file as they were at the start, with any fault in the file that did not prevent
    /// the kernel from starting it; nil if another program or an earlier router started the process.
    var launched: (handler: Handler, version: FileVersion?, fault: ProgramFault?)?
    /// Whether the process leads its process session, if the kernel has been asked.
    private var isSessionLeader = false
    /// When the router last checked whether the process runs an earlier program, and whether it does; nil before the
    /// first check.
    var programLook: (time: ContinuousClock.Instant, isEarlier: Bool)?
    /// Names that the process took instead of the handler's, if its launch took too long.
    var otherNames: [BusName] = []
    /// Whether the router has ended the process, or has asked it to exit.
    var isEnded = false
    /// Whether the router has asked the process to exit.
    private(set) var isAskedToEnd = false
    /// Whether the user wants the process to exit.
    var isUnwanted = false
    /// Why the router has killed the process, for people to read; nil if there is no reason to report.
    var endReason: String?
    /// Whether ``handle`` is a proxy, which hides the process.
    private(set) var isHidden = false
    /// Whether the process, or one of its descendants, has taken the handler's name.
    private var hasTakenName = false
    /// Whether the owner of the name has answered once, and so has launched.
    var hasAnswered = false
    /// Whether the owner of the name has answered `Open`, and so is a handler.
    var hasAnsweredOpen = false
    /// Whether the process has got a request.
    var hasGotRequests = false
    /// Whether a request was cancelled that would have brought the handler to the foreground, so that it may not be
    /// there after all.
    var isForegroundDoubtful = false
    /// Why the process is considered the handler.
    var claim: OwnerClaim?
    /// When the router last stopped the process; nil if it never has.
    private(set) var suspendedSince: ContinuousClock.Instant?
    /// Whether the handler can be asked to release its name. This is assumed until it says otherwise.
    var isSuspendable = true
    /// Why the bus did not pass the last suspend request to the process.
    var suspensionProblem: String?
    /// When the launch's time limit ends, if the router started the process.
    var launchDeadline: SuspendingClock.Instant?
    /// The latest change of activity that the handler has not answered yet.
    private(set) var transition: Transition?
    /// The error with which the handler answered when it was last told to go to the background; nil if it did not answer
    /// with one.
    var backgroundFailure: OpenURLError?
    /// The place, in the order in which the handler got them, of the first request whose sender no longer waits for the
    /// answer; nil if the handler has caught up since.
    var firstUnawaited: UInt64?
    /// Whether the handler is working on a request whose sender no longer waits, or on one before it. If so, it gets no
    /// other URL for now.
    var isBusy: Bool { firstUnawaited != nil }
    /// Whether the handler is busy because a time limit has run out, and not only because senders have cancelled.
    var isLate = false
    /// When the watchdog asked the first question that the process has not answered yet; nil after an answer.
    var silentSince: SuspendingClock.Instant?
    /// When the process last answered a request.
    private(set) var answeredAt: SuspendingClock.Instant?
    /// Whether a memory warning is on its way.
    var isWarned = false
    /// The current stay in the background.
    var stay = BackgroundStay()
    /// The router's end of a pipe, which stays open while the process is stopped. If the router exits, this end is
    /// closed, and the kernel continues the process.
    var lifeline: UnixFD?
    /// The weight that the process has; nil if it is unknown, because this router did not start the process.
    var weight: ProcessWeight?
    /// Names of the open background tasks, by their numbers.
    var tasks: [UInt32: String] = [:]
    /// Numbers of those tasks in ``tasks`` that an earlier router has recorded.
    var recordedTasks: Set<UInt32> = []
    /// The latest background task's number. The first one is random, because the handler may still use numbers from an
    /// earlier router to end tasks.
    private var lastTask = UInt32.random(in: 0 ... .max)
    /// Senders of the URLs that have brought the process to the foreground.
    var returnPaths = ReturnPaths()
    /// Changes since the process was stopped: the latest value of each kind.
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

    /// Returns whether a connection can be the process's own.
    func canHave(_ connection: BusName) -> Bool {
        guard let newestEarlierConnection, let number = ConnectionNumber(connection) else { return true }
        return number > newestEarlierConnection
    }

    /// The running process's process session; -1 if the process is gone. A leader never leaves its session, so the kernel is
    /// asked about it only once.
    func session(of running: ProcessHandle) -> pid_t {
        if isSessionLeader { return running.pid }
        let session = running.session ?? -1
        isSessionLeader = session == running.pid
        return session
    }

    /// Whether a debugger or the user holds the process.
    var isHeld: Bool { running.map { ProcessState.isHeld(pid: $0.pid) } ?? false }

    /// Whether this router started the process.
    var isOwn: Bool { handle?.isOwn == true }

    /// Whether a router, this one or an earlier one, started either the process for the handler or a program that then
    /// started the process.
    var isStartedByRouter: Bool { claim?.isStrong == true }

    /// Whether the router may end the process. It may not end a sandbox's proxy, even if it has started the sandbox.
    var isRoutersToEnd: Bool {
        switch claim {
        case .wasStarted, .runsProgram: true
        case .descends: !isHidden
        case .isInSandbox, nil: false
        }
    }

    // MARK: Transitions

    /// A change of activity that the handler has been told about: `ResignActive`, `BecomeActive` or `EnterBackground`.
    final class Transition {
        let method: MemberName
        /// When the handler could begin with it.
        fileprivate(set) var since = SuspendingClock.now

        init(_ method: MemberName) {
            self.method = method
        }
    }

    /// Notes that the handler is being told about a change of activity.
    func begin(_ method: MemberName) -> Transition {
        let transition = Transition(method)
        self.transition = transition
        return transition
    }

    /// Notes that the handler has answered, or that no answer is expected any longer.
    ///
    /// - Returns: false if the handler has been told about another change in the meantime.
    @discardableResult
    func end(_ ended: Transition) -> Bool {
        guard transition === ended else {
            // The handler takes one event after another, so it begins with the later change now.
            transition?.since = .now
            return false
        }
        transition = nil
        return true
    }

    // MARK: Suspension

    func stop() {
        suspendedSince = .now
        handle?.send(signal: SIGSTOP)
    }

    func resume() {
        handle?.send(signal: SIGCONT)
        lifeline = nil
    }

    /// Why the process is not suspended, worded to follow the handler's name; nil if it may be suspended.
    var reasonNotToSuspend: String? {
        if let task = tasks.values.first { return "its background task '\(task)' is open" }
        // If users start a handler by hand, they do not expect it to be stopped.
        if !isStartedByRouter { return "the router did not start it" }
        if !isSuspendable { return suspensionProblem ?? "it does not implement \(HandlerInterface.name).Suspend" }
        return nil
    }

    /// Begins a background task, and returns its number.
    func beginTask(_ name: String) -> UInt32 {
        repeat { lastTask &+= 1 } while tasks[lastTask] != nil || lastTask == LifecycleInterface.earlierTasks
        tasks[lastTask] = name
        return lastTask
    }

    // MARK: End

    /// Asks the process to exit if the router may end it.
    ///
    /// - Returns: whether it may.
    func terminate() -> Bool {
        isEnded = isRoutersToEnd
        isAskedToEnd = isRoutersToEnd
        if isRoutersToEnd { handle?.send(signal: SIGTERM) }
        return isRoutersToEnd
    }

    /// Kills the process if the router may end it.
    ///
    /// This kills the whole session of a process that descends from the one that a router has started, and that of a
    /// process that has not taken the handler's name yet.
    ///
    /// - Returns: false if the router has let go of the process, because it is not the handler's own.
    func kill() -> Bool {
        isEnded = true
        guard let running else { return true }
        if claim == .descends, let session = running.session, ProcessSession.end(session) > 0 { return true }
        guard isRoutersToEnd else {
            running.release()
            handle = nil
            return false
        }
        let leadsSession = session(of: running) == running.pid
        running.kill()
        // A script would leave behind the program that it has started, which could still take the name. Once the name
        // is taken, the descendants are programs that the handler has started, and they may outlive it.
        if claim == .wasStarted, !hasTakenName, leadsSession {
            _ = ProcessSession.end(running.pid) { ProcessState.isHeld(pid: $0) }
        }
        return true
    }

    // MARK: The program

    /// Returns whether the process runs a program other than the one that a launch of the handler would start now, or
    /// the same program with other arguments.
    ///
    /// Only for its own processes does the router know how they were started. For any other process, it knows only the
    /// program, which a script may have started, so the answer is yes only if the program's file is gone, or if the
    /// user has started another program by hand.
    func runsEarlierProgram(than handler: Handler, _ pid: UInt32, _ recognition: OwnerRecognition) async -> Bool {
        if ProcessProgram.isReplaced(pid: pid) { return true }
        if let launched {
            let former = launched.handler
            if former.program != handler.program || former.manifest.arguments != handler.manifest.arguments
                || former.manifest.environment != handler.manifest.environment
            {
                return true
            }
            return await recognition.programVersion(of: handler).map { $0 != launched.version } ?? false
        }
        return claim == .runsProgram ? await !recognition.runsProgram(of: handler, pid: pid) : false
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

    /// Notes that the process is a proxy, which hides the handler's own.
    func noteProxy(_ pid: UInt32) {
        isHidden = true
        isSuspendable = false
        suspensionProblem = "its process is hidden behind process \(pid), the proxy of its sandbox"
    }

    /// Notes the answer to a request. A handler that has just answered is not silent, even if an earlier question is
    /// still open.
    func noteAnswer(_ answer: Result<OpenAnswer, CallError>) {
        if case .failure(.timedOut) = answer { return }
        silentSince = nil
        answeredAt = .now
    }

    /// The same process with another connection. Only the facts about the process itself are kept.
    var withNewConnection: HandlerProcess {
        let process = HandlerProcess(
            handle: handle,
            identity: identity,
            newestEarlierConnection: newestEarlierConnection,
            output: output,
            since: since,
            claim: claim
        )
        process.hasTakenName = true
        process.hasGotRequests = hasGotRequests
        process.isEnded = isEnded
        process.endReason = endReason
        process.launched = launched
        process.launchDeadline = launchDeadline
        process.returnPaths = returnPaths
        return process
    }
}
