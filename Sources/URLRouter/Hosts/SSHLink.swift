internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor

/// The way to one host over ssh: a session while there is something to send, and the attempts to make one.
///
/// It belongs to the router's actor.
final class SSHLink {
    let host: HostName
    let destination: String
    private let launcher: HandlerLauncher
    private let tasks: RouterTasks
    private let log: Logger
    /// Called when the host cannot be reached, and nothing should be sent.
    private let hold: () -> Void
    /// Called when it is time to try again.
    private let release: () -> Void

    private var session: SSHSession?
    private var isOpen = false
    private var isStarting = false
    private var isStopped = false
    /// Whether the session is ended because there is nothing to send.
    private var isIdle = false
    /// Requests that wait for a session.
    private var waiters: [CheckedContinuation<Bool, Never>] = []
    /// Whether nothing should be sent. A request that was under way then may still make a session.
    private var isHeld = false
    private var failures = 0
    private let timer: RestartableTimer
    /// When the host is tried again; nil if it can be reached.
    private(set) var next: ContinuousClock.Instant?
    /// Why the host could not be reached.
    private(set) var problem: String?

    /// How long a session without requests stays.
    private static let idleTime = Duration.seconds(30)
    /// The longest time between two attempts to reach a host.
    static let longestDelay = Duration.seconds(300)

    init(
        _ host: HostName,
        _ destination: String,
        _ launcher: HandlerLauncher,
        _ tasks: RouterTasks,
        _ log: Logger,
        hold: @escaping () -> Void,
        release: @escaping () -> Void
    ) {
        self.host = host
        self.destination = destination
        self.launcher = launcher
        self.tasks = tasks
        self.log = log
        self.hold = hold
        self.release = release
        timer = RestartableTimer(on: launcher.loop)
    }

    var state: HostEntry.State {
        if isOpen { return .connected }
        if isStarting || session != nil { return .connecting }
        return next == nil ? .idle : .unreachable
    }

    /// Sends a request over a session, which is started if there is none.
    func send(_ request: HostRequest, lifetime: Duration?) async -> HostReply {
        guard await connect(), let session else { return .none("\(host) cannot be reached: \(problem ?? "")") }
        timer.cancel()
        let reply = await session.send(request, lifetime: lifetime)
        if case .answer = reply { (failures, problem) = (0, nil) }
        if session.count == 0, self.session === session { timer.start(in: Self.idleTime) { self.endIdle() } }
        return reply
    }

    private func endIdle() {
        isIdle = true
        session?.end("there is nothing to send")
        isIdle = false
    }

    /// Returns whether there is a session, after it has been started if necessary.
    private func connect() async -> Bool {
        if isOpen { return true }
        if isStopped { return false }
        return await withCheckedContinuation { continuation in
            // Other jobs of the loop may run before this closure.
            if isOpen || isStopped { return continuation.resume(returning: isOpen) }
            waiters.append(continuation)
            if !isStarting, session == nil { tasks.start { await self.start() } }
        }
    }

    private func start() async {
        isStarting = true
        timer.cancel()
        next = nil
        let update = launcher.session.startUpdate()
        await update?.value
        let environment = await launcher.session.variables
        let result = await SSHSession.start(
            host,
            destination,
            environment,
            with: launcher,
            opened: { [unowned self] in opened() },
            ended: { [unowned self] in ended($0) }
        )
        isStarting = false
        switch result {
        case .success(let session) where isStopped: session.end("the router is exiting")
        case .success(let session): self.session = session
        case .failure(let error): ended(error.message)
        }
    }

    private func opened() {
        isOpen = true
        if isHeld { endHold() }
        log.debug("connected to another host", metadata: ["host": "\(host)"])
        resumeWaiters()
    }

    private func ended(_ reason: String) {
        timer.cancel()
        let wasOpen = isOpen
        (session, isOpen) = (nil, false)
        if !isStopped, !isIdle { fail(reason, wasOpen: wasOpen) }
        resumeWaiters()
    }

    private func fail(_ reason: String, wasOpen: Bool) {
        failures += 1
        // The requests without an answer are repeated, which starts the next session.
        if wasOpen, failures == 1 { return }
        if problem != reason { log.notice("another host cannot be reached: \(reason)", metadata: ["host": "\(host)"]) }
        problem = reason
        let time = ContinuousClock.now + min(.seconds(1 << min(failures - 1, 9)), Self.longestDelay)
        next = time
        isHeld = true
        hold()
        timer.start(at: time) { [unowned self] in endHold() }
    }

    private func endHold() {
        next = nil
        isHeld = false
        release()
    }

    private func resumeWaiters() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume(returning: isOpen) }
    }

    /// Tries again at once if the host could not be reached, for example because the network has changed.
    func networkChanged() {
        guard next != nil else { return }
        timer.cancel()
        endHold()
    }

    /// Ends the session. No other one is started.
    func stop() {
        isStopped = true
        timer.cancel()
        session?.end("the router is exiting")
        resumeWaiters()
    }
}
