internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// Keeps active handlers inactive for as long as something interrupts them: a program, or a locked screen ("Responding
/// to Interruptions").
///
/// An interruption concerns a handler that is active when it begins, and ends when the handler leaves the foreground.
/// When the machine goes to sleep, the handler goes on to the background, and comes back afterwards.
///
/// This belongs to the router's actor.
final class Interruptions {
    private let lifecycle: HandlerLifecycle
    private let callers: Callers
    private let tasks: RouterTasks
    /// The programs that interrupt each handler, by their connections.
    private var programs: [BusName: [BusName: Program]] = [:]
    /// The number of programs in ``programs``, and of those that are about to be there.
    private var shares: Shares<String>

    /// The handlers that are inactive because the screen is locked.
    private var locked: Set<BusName> = []
    private var isLocked = false
    /// Whether the machine sleeps, or is about to sleep or to shut down.
    private var isPaused = false
    /// The handler that was in the foreground before the pause; nil if another has come to the foreground since.
    private var returning: BusName?
    private var login: LoginSession?

    /// A program that interrupts a handler.
    private struct Program {
        let account: String
        let watch: ConnectionWatch
    }

    init(_ lifecycle: HandlerLifecycle, _ callers: Callers, _ tasks: RouterTasks, _ systemBus: SystemBus) {
        self.lifecycle = lifecycle
        self.callers = callers
        self.tasks = tasks
        shares = Shares(limit: lifecycle.sessions.shared.limits.interruptions)
        login = LoginSession(systemBus, self, sessions.shared)
    }

    private var sessions: HandlerSessions { lifecycle.sessions }

    /// Adapts to a change of the foreground: an interruption ends when its handler leaves the foreground.
    func foregroundChanged(_ id: BusName) {
        let state = sessions[id]?.machine.state
        if state?.isInterrupted != true { endAll(of: id) }
        if state?.isInForeground == true { returning = nil }
        login?.foregroundChanged()
    }

    // MARK: Programs

    /// Interrupts an active handler until the caller resumes it or leaves the bus. Returns when the handler has been
    /// told.
    ///
    /// - Throws: `notAllowed` if the handler is not active, `limitsExceeded`, and why the handler has exited.
    func begin(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        guard let caller else { throw OpenURLError(.notAllowed, "only a program on the bus can interrupt a handler") }
        let session = try await lifecycle.runningSession(id)
        if programs[session.id]?[caller] == nil { try await add(caller, to: session) }
        try await session.activity.interrupt()
    }

    private func add(_ caller: BusName, to session: HandlerSession) async throws(OpenURLError) {
        let account = await callers.caller(caller).account
        guard shares.refusal(of: account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(account) already has \(shares[account]) interruptions; end one first"
            )
        }
        shares.add(1, to: account)
        var isAdded = false
        var hasLeft = false
        let watch = ConnectionWatch(on: sessions.shared.bus) { [unowned self] in
            hasLeft = true
            guard end(session.id, caller) else { return }
            tasks.start { await self.resume(session) }
        }
        defer {
            if !isAdded {
                watch.end()
                shares.remove(1, from: account)
            }
        }
        try await watch.begin(caller, tasks)
        // In the meantime, the caller may have left or called again, and the handler may have left the foreground.
        if programs[session.id]?[caller] != nil { return }
        if hasLeft { throw OpenURLError(.cancelled, "the program that interrupts \(session.id) has left the bus") }
        guard session.isInForeground else { throw OpenURLError(.notAllowed, "\(session.id) is not active") }
        programs[session.id, default: [:]][caller] = Program(account: account, watch: watch)
        isAdded = true
    }

    /// Ends the caller's interruption of a handler, or all its interruptions if the caller has not begun one. Returns
    /// when the handler has been told, unless it stays inactive.
    func end(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        let session = try await lifecycle.runningSession(id)
        if caller.map({ end(session.id, $0) }) != true { endAll(of: session.id) }
        await resume(session)
    }

    /// Ends one program's interruption.
    ///
    /// - Returns: whether there was one.
    private func end(_ id: BusName, _ caller: BusName) -> Bool {
        guard let program = programs[id]?.removeValue(forKey: caller) else { return false }
        if programs[id]?.isEmpty == true { programs[id] = nil }
        program.watch.end()
        shares.remove(1, from: program.account)
        return true
    }

    private func endAll(of id: BusName) {
        locked.remove(id)
        for caller in programs[id]?.keys.map(\.self) ?? [] { _ = end(id, caller) }
    }

    /// Makes a handler active again if nothing interrupts it any longer.
    private func resume(_ session: HandlerSession) async {
        guard programs[session.id] == nil, !locked.contains(session.id) else { return }
        await session.activity.resume()
    }
}

// MARK: - The login session

extension Interruptions: LoginSessionView {
    var hasForeground: Bool { !sessions.shared.foreground.isEmpty }

    func lock() {
        isLocked = true
        for id in sessions.shared.foreground {
            locked.insert(id)
            sessions[id]?.handle(.interrupted)
        }
    }

    func unlock() {
        isLocked = false
        let inactive = locked.compactMap { sessions[$0] }
        locked = []
        for session in inactive { tasks.start { await self.resume(session) } }
        bringBack()
    }

    func pause() async {
        isPaused = true
        await clearForeground()
    }

    func continueAfterPause() {
        isPaused = false
        bringBack()
    }

    func end() {
        isLocked = false
        tasks.start {
            await self.clearForeground()
            self.returning = nil
        }
    }

    /// Moves the handlers in the foreground to the background. Returns when they have saved their states.
    private func clearForeground() async {
        let leaving = sessions.shared.foreground.compactMap { sessions[$0] }
        if let session = leaving.first { returning = session.id }
        sessions.shared.clearForeground()
        for session in leaving {
            do throws(OpenURLError) {
                try await session.leaveForeground()
            } catch {
                let reason = session.withoutSecrets("\(error)")
                sessions.shared.log.notice(
                    "could not go to the background: \(reason)",
                    metadata: ["handler": "\(session.id)"]
                )
            }
        }
    }

    /// Brings the handler back that was in the foreground before the pause, once the user can see it. A handler that
    /// has exited is not started.
    private func bringBack() {
        guard !isPaused, !isLocked, let id = returning, let session = sessions[id] else { return }
        returning = nil
        switch session.machine.state {
        case .running, .suspending, .suspended, .waking: break
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .ending: return
        }
        tasks.start { [log = sessions.shared.log] in
            do throws(OpenURLError) {
                try await session.comeBack()
            } catch {
                let reason = session.withoutSecrets("\(error)")
                log.notice("cannot return to the foreground: \(reason)", metadata: ["handler": "\(session.id)"])
            }
        }
    }
}
