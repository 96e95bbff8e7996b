internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// What can be asked of a handler besides opening a URL.
extension URLRouter {
    /// Starts a handler if it does not run, and asks it to show itself; returns when it has.
    ///
    /// The wish waits in the handler's queue like a URL: what came before it is handed over before.
    func activate(_ id: BundleIdentifier) async throws(OpenURLError) {
        let session = try lifecycleSession(id)
        let request = request(.activate, session)
        defer { end(request, session) }
        session.enqueue(request)
        _ = try await deliver(request, session)
    }

    /// Starts or wakes a handler and leaves the foreground as it is; returns when it owns its name.
    func wake(_ id: BundleIdentifier) async throws(OpenURLError) {
        let session = try lifecycleSession(id)
        let request = request(.wake, session)
        defer { end(request, session) }
        session.enqueue(request)
        handle(.requested, session)
        let owner = try await turn(of: request, session)
        let notifications = session.notifications
        guard !notifications.isEmpty else { return }
        session.notifications = [:]
        await notify(notifications, session, owner)
    }

    private func request(_ purpose: OpenRequest.Purpose, _ session: HandlerSession) -> OpenRequest {
        lastNumber += 1
        let request = OpenRequest(
            number: lastNumber,
            purpose,
            timeout: session.handler.manifest.openTimeout ?? limits.openTimeout,
            options: OpenOptions()
        )
        request.context = OpenContext()
        return request
    }

    /// Takes a handler to the background; returns when it is there, or has ended as its manifest says.
    func background(_ id: BundleIdentifier) async throws(OpenURLError) {
        let session = try await runningSession(id)
        handle(.losesForeground, session)
        await wait(for: session) { state in
            if case .running(_, let activity) = state { activity == .background } else { true }
        }
        switch session.machine.state {
        case .ending, .notRunning, .lookingForOwner, .starting, .lostProcess:
            if session.machine.exitsOnSuspend { return }
            throw session.verdict
                ?? OpenURLError(.handlerCrashed, "\(session.id) ended on its way to the background")
        case .running, .suspending, .suspended, .waking: return
        }
    }

    /// Takes a handler to the background and suspends it; returns when its process is stopped.
    func suspend(_ id: BundleIdentifier) async throws(OpenURLError) {
        try await background(id)
        let session = try lifecycleSession(id)
        if let reason = reasonNotToSuspend(session) {
            throw OpenURLError(.notAllowed, "\(session.id) is not suspended: \(reason)")
        }
        if case .running(_, .background) = session.machine.state { handle(.timeOver, session) }
        await wait(for: session) { if case .suspending = $0 { false } else { true } }
        switch session.machine.state {
        case .running:
            throw OpenURLError(
                .notAllowed,
                "\(session.id) is not suspended: \(reasonNotToSuspend(session) ?? "it has something to do")"
            )
        case .suspended, .waking: return
        default: throw session.verdict ?? OpenURLError(.handlerCrashed, "\(session.id) ended before it was suspended")
        }
    }

    /// Ends a handler, and forgets the state that it has saved; returns when its process is gone.
    func terminate(_ id: BundleIdentifier) async throws(OpenURLError) {
        let session = try lifecycleSession(id)
        await find(session)
        if let process = session.process, !process.isChild, !session.isVerified {
            throw OpenURLError(.notAllowed, "the process that owns \(session.id) does not run the handler's program")
        }
        handle(.terminated, session)
        let connection = session.machine.connection
        await wait(for: session) { state in
            switch state {
            case .notRunning, .lookingForOwner, .starting, .lostProcess: true
            case .running(let owner, _): owner != connection
            case .suspending, .suspended, .waking, .ending: false
            }
        }
        do throws(FileError) {
            try RestorationFile(ofHandler: "\(session.id)", environment: launcher.environment)?.remove()
        } catch {
            log.error("the saved state of \(session.id) cannot be removed: \(error)")
        }
    }

    // MARK: Notifications and memory

    /// Hands a notification over, or keeps the latest of its kind for a handler that is suspended.
    func notify(_ id: BundleIdentifier, _ kind: String, _ value: Value) async throws(OpenURLError) {
        let session = try await runningSession(id)
        switch session.machine.state {
        case .suspending, .suspended, .waking:
            guard session.notifications[kind] != nil || session.notifications.count < limits.notificationKinds else {
                throw OpenURLError(
                    .limitsExceeded,
                    "\(session.notifications.count) kinds of notifications wait for \(session.id) already"
                )
            }
            session.notifications[kind] = value
        default:
            guard let owner = session.owner else { return }
            await notify([kind: value], session, owner)
        }
    }

    private func notify(_ notifications: [String: Value], _ session: HandlerSession, _ owner: BusName) async {
        do throws(CallError) {
            try await bus.notify(notifications, session.id, at: owner)
        } catch {
            log.debug("\(session.id) does not take notifications: \(error)")
        }
    }

    /// Warns what runs, and ends what is suspended, the largest first ("Observe Low-Memory Warnings").
    func relieveMemory() {
        let all = sessions.values.sorted { $0.id.rawValue < $1.id.rawValue }
        for session in all {
            guard let owner = session.owner, session.isVerified else { continue }
            Task.immediate(executorPreference: loop) {
                do throws(CallError) {
                    try await self.bus.receiveMemoryWarning(session.id, at: owner)
                } catch {
                    self.log.debug("\(session.id) does not take memory warnings: \(error)")
                }
            }
        }
        var suspended: [(HandlerSession, memory: UInt64)] = []
        for session in all {
            guard case .suspended = session.machine.state, let process = session.process else { continue }
            suspended.append((session, ProcessMemory.resident(pid: process.pid) ?? 0))
        }
        for (session, memory) in suspended.sorted(by: { $0.memory > $1.memory }) {
            log.notice("ended to relieve memory", metadata: ["handler": "\(session.id)", "bytes": "\(memory)"])
            handle(.purged, session)
        }
    }

    // MARK: Which handler

    func lifecycleSession(_ id: BundleIdentifier) throws(OpenURLError) -> HandlerSession {
        guard let handler = registry[id], handler.program != nil else {
            throw OpenURLError(.noHandler, "no handler is registered as \(id); 'openurl list' shows all that are")
        }
        return session(for: handler)
    }

    private func runningSession(_ id: BundleIdentifier) async throws(OpenURLError) -> HandlerSession {
        let session = try lifecycleSession(id)
        await find(session)
        guard session.machine.connection != nil else {
            throw OpenURLError(.notAllowed, "\(session.id) is not running")
        }
        return session
    }

    /// A handler that was started by others, and that no URL has gone to, is found now.
    func find(_ session: HandlerSession) async {
        if session.machine.state == .notRunning { await adopt(session) }
    }
}
