internal import DBus
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// Handles callers' requests about handlers themselves.
///
/// This belongs to the router's actor.
final class HandlerLifecycle {
    private let handlers: KnownHandlers
    let sessions: HandlerSessions
    private let applications: ApplicationOpener
    private let deliveries: DeliveryScheduler?
    private let callers: Callers
    private let monitor: Monitor
    /// When a caller last asked to relieve memory pressure.
    private var lastRelief: ContinuousClock.Instant?

    /// - Parameter deliveries: the URLs to deliver later; nil if there is nowhere to store them.
    init(
        _ handlers: KnownHandlers,
        _ sessions: HandlerSessions,
        _ applications: ApplicationOpener,
        _ deliveries: DeliveryScheduler?,
        _ callers: Callers,
        _ monitor: Monitor
    ) {
        self.handlers = handlers
        self.sessions = sessions
        self.applications = applications
        self.deliveries = deliveries
        self.callers = callers
        self.monitor = monitor
    }

    func activate(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        try await monitor.observing(.activate, id.rawValue, caller) { observed async throws(OpenURLError) in
            let request = OpenRequest(activatingWith: OpenOptions(), observed: observed)
            try await sessions.obtain(for: handler(id)).activate(request) { await callers.caller(caller).handler?.id }
        }
    }

    func wake(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        try await monitor.observing(.wake, id.rawValue, caller) { observed async throws(OpenURLError) in
            let request = OpenRequest(waking: WakeContext(.known(.message)), observed: observed)
            try await sessions.obtain(for: handler(id)).wake(request) { await callers.caller(caller).handler?.id }
        }
    }

    func background(_ id: BundleIdentifier) async throws(OpenURLError) {
        if let failure = try await runningSession(id).leaveForeground() { throw failure }
    }

    func suspend(_ id: BundleIdentifier) async throws(OpenURLError) {
        try await runningSession(id).suspend()
    }

    /// Returns a warning if a handler's process is still running the program of an earlier registration, or of a file
    /// that has been replaced.
    func earlierProgram(of handler: Handler) async -> String? {
        guard handler.kind == .native, handler.program != nil, handlers.temporary.reason(for: handler.id) != .claim,
            let pid = await sessions.find(handler)?.processes.processOfEarlierProgram()
        else { return nil }
        return "process \(pid) is still running the earlier program; 'openurl restart \(handler.id)' replaces it"
    }

    /// Ends a handler, removes its saved state, and returns when its process has exited.
    func terminate(_ id: BundleIdentifier) async throws(OpenURLError) {
        if let session = try await endableSession(id) {
            let source = session.isInForeground ? session.process.returnPaths.take("") : nil
            try await session.terminate()
            // In the meantime, another handler may have come to the foreground.
            if sessions.shared.foreground.isEmpty, let source = handlers.registry.handler(named: source) {
                bringBack(source)
            }
        }
        do throws(FileError) {
            try SavedStateLocation(ofHandler: id.rawValue, environment: sessions.shared.launcher.environment)?.remove()
        } catch {
            sessions.shared.log.error("the saved state of \(id) cannot be removed: \(error)")
        }
    }

    /// Brings the handler that has sent a URL back to the foreground.
    ///
    /// - Parameters:
    ///   - request: the ID of the URL's request; empty for the latest one.
    ///   - tokens: options with the focus tokens.
    /// - Throws: `notAllowed` if the caller is not the handler in the foreground, or if no handler has sent the URL.
    func returnToSource(of request: String, _ tokens: OpenOptions, caller: BusName?) throws(OpenURLError) {
        let session = try callingSession(caller)
        guard session.isInForeground else {
            throw OpenURLError(.notAllowed, "\(session.id) is not in the foreground")
        }
        guard let source = handlers.registry.handler(named: session.process.returnPaths.take(request)) else {
            throw OpenURLError(.notAllowed, "no handler sent the URL to \(session.id), so there is no way back")
        }
        bringBack(source, tokens)
    }

    /// Brings a handler to the foreground. This runs in a task, because the handler may be waiting for the one that
    /// returns to it.
    private func bringBack(_ handler: Handler, _ tokens: OpenOptions = OpenOptions()) {
        guard handler.kind == .native else { return }
        let session = sessions.obtain(for: handler)
        sessions.shared.tasks.start { [log = sessions.shared.log] in
            do throws(OpenURLError) {
                try await session.activate(OpenRequest(activatingWith: tokens, observed: nil))
            } catch {
                let reason = session.withoutSecrets("\(error)")
                log.notice("cannot return to the sender of a URL: \(reason)", metadata: ["handler": "\(session.id)"])
            }
        }
    }

    /// Forgets a handler's crashes, so that it may be started immediately, and tries the URLs that wait for it.
    func reset(_ id: BundleIdentifier) throws(OpenURLError) {
        guard let session = sessions[try handler(id).id] else { return }
        session.quarantine.forgetCrashes()
        deliveries?.tryWaiting(for: id.rawValue)
    }

    /// How the kinds begin that the router uses itself, such as `PushInterface.endpointKind`.
    private static let reservedKinds = "org.openurl."

    /// Notifies a handler of a change. If the notification wakes the handler, returns when the handler is done with it.
    func notify(
        _ id: BundleIdentifier,
        _ kind: String,
        _ value: Value,
        _ options: NotificationOptions = NotificationOptions(),
        caller: BusName?
    ) async throws(OpenURLError) {
        guard !kind.hasPrefix(Self.reservedKinds) else {
            throw OpenURLError(.notAllowed, "only the router itself sends notifications of this kind")
        }
        let handler = try handler(id)
        let sender = await callers.caller(caller)
        // A program in a sandbox has the identifier too, but not the rights of the handler's own process.
        if sender.callerClass.isConfined || sender.source.application != id.rawValue {
            try handler.checkAccess(of: sender.handler?.id, sender.callerClass)
        }
        guard options.wakes else { return try await runningSession(id).notifications.deliver(kind, value) }
        let bytes = try KeptNotifications.bytes(kind, value, sessions.shared.limits)
        var context = WakeContext(.known(.message))
        context.notifications = [kind: value]
        try await monitor.observing(.wake, id.rawValue, caller) { observed async throws(OpenURLError) in
            let request = OpenRequest(waking: context, observed: observed)
            request.load = RequestLoad(bytes: bytes, descriptors: 0)
            try callers.count(&request.load, of: caller)
            defer { callers.discount(request.load) }
            try await sessions.obtain(for: handler).wake(request) { sender.handler?.id }
        }
    }

    /// Returns the session of a handler that may be running, even if it is no longer registered.
    private func endableSession(_ id: BundleIdentifier) async throws(OpenURLError) -> HandlerSession? {
        if handlers.registry[id] == nil, let session = sessions[id], session.isRunning { return session }
        return try await sessions.find(handler(id))
    }

    private func handler(_ id: BundleIdentifier) throws(OpenURLError) -> Handler {
        guard let handler = handlers.registry[id], handler.program != nil else {
            if let session = sessions[id], session.isRunning {
                throw OpenURLError(
                    .noHandler,
                    "\(id) is no longer registered, but its process is still running; 'openurl terminate \(id)' ends it"
                )
            }
            throw OpenURLError(noProcessOf: id, in: handlers.registry)
        }
        guard handler.kind == .native else {
            let kind = handler.desktopEntry.map { "stands for \($0)" } ?? "is a command"
            throw OpenURLError(.notAllowed, "\(id) \(kind), which runs only for a URL")
        }
        return handler
    }

    /// Returns the session of a handler that is running.
    ///
    /// - Throws: `noHandler`, or `notAllowed` if it is not running or is a command.
    func runningSession(_ id: BundleIdentifier) async throws(OpenURLError) -> HandlerSession {
        guard let session = try await sessions.find(handler(id)), session.machine.connection != nil else {
            throw OpenURLError(.notAllowed, "\(id) is not running")
        }
        return session
    }

    // MARK: Background tasks

    /// Begins a background task for the handler that calls.
    ///
    /// - Returns: the task's number, and the time that is left, in milliseconds.
    func beginBackgroundTask(_ name: String, caller: BusName?) async throws(OpenURLError) -> (UInt32, UInt32) {
        // As soon as this router has the name, the handlers of an earlier router begin their open tasks again.
        await callers.waitForRelease()
        return try callingSession(caller).background.beginTask(name)
    }

    func endBackgroundTask(_ task: UInt32, caller: BusName?) async throws(OpenURLError) {
        await callers.waitForRelease()
        try callingSession(caller).background.endTask(task)
    }

    func finishBackgroundMode(caller: BusName?) throws(OpenURLError) {
        try callingSession(caller).background.finishMode()
    }

    func backgroundTimeRemaining(caller: BusName?) throws(OpenURLError) -> UInt32 {
        try callingSession(caller).background.timeRemaining
    }

    private func callingSession(_ caller: BusName?) throws(OpenURLError) -> HandlerSession {
        guard let session = caller.flatMap(sessions.session(ofConnection:)) else {
            throw OpenURLError(.notAllowed, "the caller does not own the name of a handler")
        }
        return session
    }

    // MARK: State

    /// Returns the state of each handler that a caller may know about.
    func status(for caller: BusName?) async -> [HandlerStatus] {
        guard let own = await callers.ownIdentifier(of: caller) else { return await status() }
        return await status().filter { $0.id == own }
    }

    /// Returns the state of each handler.
    func status() async -> [HandlerStatus] {
        // The user may have started handlers by hand since the router last looked.
        await sessions.findRunning(handlers.registry)
        await sessions.askForStates()
        var statuses: [HandlerStatus] = []
        for handler in handlers.registry.handlers where handler.program != nil {
            guard handler.kind == .native else {
                statuses.append(status(ofCommandOf: handler))
                continue
            }
            guard let session = sessions[handler.id] else {
                var status = HandlerStatus(id: handler.id.rawValue, state: .known(.notRunning))
                status.temporary = handlers.temporary.reason(for: handler.id).map(Reported.known) ?? .absent
                statuses.append(status)
                continue
            }
            await session.quarantine.update(session.handler)
            let runsEarlierProgram =
                handlers.temporary.reason(for: handler.id) == .claim
                ? false : await session.replacement.processToReplace() != nil
            var status = session.status
            status.runsEarlierProgram = runsEarlierProgram
            status.temporary = handlers.temporary.reason(for: handler.id).map(Reported.known) ?? .absent
            statuses.append(status)
        }
        let unregistered = sessions.running(apartFrom: handlers.registry).map { session in
            var status = session.status
            status.isRegistered = false
            return status
        }
        return statuses + unregistered
    }

    /// Returns the state of a handler, which is `active` for a command that is running.
    func state(of handler: Handler) -> HandlerState {
        let runsCommand = handler.kind == .exec && applications.commandWriters[handler.id.rawValue]?.latest != nil
        return runsCommand ? .active : sessions.state(of: handler.id)
    }

    /// Returns the status of a handler with a command (`OUCommand`), with the latest process.
    private func status(ofCommandOf handler: Handler) -> HandlerStatus {
        let id = handler.id.rawValue
        guard let command = applications.commandWriters[id]?.latest else {
            return HandlerStatus(id: id, state: .known(.notRunning))
        }
        return HandlerStatus(
            id: id,
            state: .known(.active),
            pid: UInt32(exactly: command.pid),
            since: command.since,
            residentMemory: ProcessMemory.resident(pid: command.pid)
        )
    }

    /// Relieves memory pressure at a caller's request. Because this ends a handler each time, it does nothing if memory
    /// was last relieved only a moment ago.
    func relieveMemory() {
        if let lastRelief, lastRelief + sessions.shared.limits.reliefPeriod > .now { return }
        lastRelief = .now
        sessions.relieveMemory()
    }
}

extension HandlerSession {
    fileprivate var status: HandlerStatus {
        var status = HandlerStatus(id: id.rawValue, state: .known(state))
        if let running = process.running {
            if !process.isHidden {
                status.pid = UInt32(exactly: running.pid)
                status.residentMemory = ProcessMemory.resident(pid: running.pid)
            }
            status.since = process.since
            status.isVerified = process.claim?.isStrong != false
        }
        status.isOverdue = process.isLate
        status.quarantinedUntil = quarantine.end
        if let ended = processes.ended {
            status.ended = ended.time
            status.endReason = ended.reason
            switch ended.exit {
            case .exited(let code): status.exitStatus = UInt32(exactly: code)
            case .signalled(let signal): status.signal = UInt32(exactly: signal)
            case .unknown: break
            }
        }
        status.backgroundTasks = process.tasks.sorted { $0.key < $1.key }.map(\.value)
        return status
    }
}

extension Registry {
    fileprivate func handler(named id: String?) -> Handler? { id.flatMap { handler(named: $0) } }
}
