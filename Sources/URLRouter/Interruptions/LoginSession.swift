internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor

/// The part of the router that a user's login session acts on.
protocol LoginSessionView: AnyObject {
    /// Whether any handler is in the foreground.
    var hasForeground: Bool { get }
    /// The screen is locked.
    func lock()
    /// The screen is unlocked.
    func unlock()
    /// The machine goes to sleep or shuts down. Returns when the handlers are ready for that.
    func pause() async
    /// The machine has woken up, or does not shut down after all.
    func continueAfterPause()
    /// The session has ended.
    func end()
}

/// Follows the user's login session on the system bus: its lock, its end, and the machine's sleep and shutdown.
///
/// Nothing is asked before the first handler comes to the foreground. Without a system bus or without logind, nothing
/// happens at all.
///
/// While a handler is in the foreground, the router holds a delay inhibitor, as logind's documentation advises:
/// otherwise the machine could be asleep before the handlers have saved their states.
///
/// This belongs to the router's actor.
final class LoginSession {
    private let bus: SystemBus
    private let loop: EventLoop
    private let tasks: RouterTasks
    private let log: Logger
    /// How long sleep and shutdown may wait for the handlers.
    private let delay: Duration
    private unowned let view: any LoginSessionView

    /// The connection on which logind's signals arrive.
    private var connection: Connection?
    /// The session's object; nil if the user has no session.
    private var session: ObjectPath?
    /// The tasks that follow the session. Signals about the sessions of others do not wake the router.
    private var following: [Task<Void, Never>?] = []
    /// Delays sleep and shutdown while it exists.
    private var inhibitor: UnixFD?
    /// Whether the machine is about to sleep or to shut down, or is asleep.
    private var isPausing = false
    private var isUpdating = false
    private var isUpdateDue = false
    /// Counts the beginnings and ends of pauses.
    private var pauseChanges: UInt64 = 0
    private let pauseTimer: RestartableTimer

    init(_ bus: SystemBus, _ view: any LoginSessionView, _ shared: SharedParts) {
        self.bus = bus
        self.view = view
        loop = shared.loop
        tasks = shared.tasks
        log = shared.log
        delay = shared.limits.sleepDelay
        pauseTimer = RestartableTimer(on: shared.loop)
    }

    /// Adapts to a change of the foreground, once for all changes that follow from one event: when a handler takes the
    /// place of another, the foreground is empty in between.
    func foregroundChanged() {
        guard !isUpdateDue, bus.mayExist else { return }
        isUpdateDue = true
        loop.execute(
            tasks.onLoop { [self] in
                isUpdateDue = false
                update()
            }
        )
    }

    /// Connects if necessary, and takes or releases the inhibitor.
    private func update() {
        guard !isUpdating else { return }
        isUpdating = true
        tasks.start { [self] in
            if view.hasForeground, connection == nil { await connect() }
            if let connection {
                // The foreground may change while logind is answering.
                while !isPausing, view.hasForeground != (inhibitor != nil) {
                    guard view.hasForeground else {
                        inhibitor = nil
                        continue
                    }
                    guard await inhibit(connection) else { break }
                }
            }
            isUpdating = false
        }
    }

    // MARK: logind

    private func connect() async {
        guard let connection = await bus.connection() else { return }
        do throws(CallError) {
            try await follow(connection)
        } catch {
            log.debug("the system bus does not report login sessions: \(error)")
        }
        await findSession(connection)
        self.connection = connection
        tasks.start { [self] in
            await connection.waitUntilClosed()
            (self.connection, session, following) = (nil, nil, [])
            inhibitor = nil
            // Nobody reports the end of a sleep any longer.
            if isPausing { pauses(false) }
        }
    }

    private func follow(_ connection: Connection) async throws(CallError) {
        let manager = MatchRule(sender: LoginManager.name, path: LoginManager.path)
        try await follow(LoginManager.prepareForSleep, manager, connection) { [self] in pauses($0.body) }
        try await follow(LoginManager.prepareForShutdown, manager, connection) { [self] in pauses($0.body) }
        try await follow(LoginManager.sessionNew, manager, connection) { [self] _ in
            tasks.start { await self.findSession(connection) }
        }
        try await follow(LoginManager.sessionRemoved, manager, connection) { [self] signal in
            guard signal.body.values.1 == session else { return }
            view.end()
            tasks.start { await self.findSession(connection) }
        }
    }

    @discardableResult
    private func follow<Body: MessageBody & Sendable>(
        _ signal: Signal<Body>,
        _ rule: MatchRule,
        _ connection: Connection,
        _ handle: @escaping (ReceivedSignal<Body>) -> Void
    ) async throws(CallError) -> Task<Void, Never>? {
        let signals = try await connection.signals(signal, matching: rule)
        return tasks.start { for await signal in signals { handle(signal) } }
    }

    /// Finds the user's session, and follows it in place of an earlier one.
    private func findSession(_ connection: Connection) async {
        var found: ObjectPath?
        do throws(CallError) {
            found = try await connection.loginSession()
        } catch {
            log.debug("the user has no login session: \(error)")
        }
        guard found != session else { return }
        session = found
        for task in following { task?.cancel() }
        following = []
        guard let found else { return }
        do throws(CallError) {
            try await follow(found, connection)
        } catch {
            log.debug("the login session does not report its lock: \(error)")
        }
    }

    private func follow(_ session: ObjectPath, _ connection: Connection) async throws(CallError) {
        var rule = MatchRule(sender: LoginManager.name, path: session)
        let lock = try await follow(LoginManager.lock, rule, connection) { [self] _ in view.lock() }
        let unlock = try await follow(LoginManager.unlock, rule, connection) { [self] _ in view.unlock() }
        // Many desktops lock the screen without a request by logind, and only report it there.
        rule.arguments = [0: LoginManager.sessionInterface.rawValue]
        let hint = try await follow(PropertiesInterface.changed, rule, connection) { [self] signal in
            guard let isLocked = signal.body.values.1[LoginManager.lockedHint.name.rawValue]?.bool else { return }
            if isLocked { view.lock() } else { view.unlock() }
        }
        // In the meantime, the user may have begun another session.
        guard self.session == session else { return [lock, unlock, hint].forEach { $0?.cancel() } }
        following = [lock, unlock, hint]
        // The screen may have been locked since before the router followed the session.
        let object = RemoteObject(LoginManager.name, session)
        if try await connection.get(LoginManager.lockedHint, on: object, timeout: SystemBus.timeout) { view.lock() }
    }

    // MARK: Sleep and shutdown

    /// - Returns: whether there is an inhibitor now.
    private func inhibit(_ connection: Connection) async -> Bool {
        do throws(CallError) {
            let inhibitor = try await connection.call(
                LoginManager.inhibit,
                on: LoginManager.object,
                Arguments("sleep:shutdown", "openurl", "URL handlers need to save their state", "delay"),
                timeout: SystemBus.timeout
            )
            // By now, the machine may be about to sleep.
            if !isPausing { self.inhibitor = inhibitor }
            return true
        } catch {
            log.debug("sleep and shutdown cannot be delayed: \(error)")
            return false
        }
    }

    private func pauses(_ begins: Bool) {
        pauseTimer.cancel()
        pauseChanges += 1
        isPausing = begins
        guard begins else {
            view.continueAfterPause()
            return update()
        }
        let change = pauseChanges
        pauseTimer.start(at: .now + delay) { [self] in
            log.notice("the handlers did not save their states within \(delay.inWords)")
            inhibitor = nil
        }
        tasks.start { [self] in
            await view.pause()
            guard pauseChanges == change else { return }
            pauseTimer.cancel()
            inhibitor = nil
        }
    }
}
