internal import DBus
internal import OpenURLBus
internal import Policy
internal import Processes
internal import Reactor
internal import SchemeRegistry

/// Registers handlers in memory, either until the router exits or for as long as a program runs.
///
/// It belongs to the router's actor.
final class TemporaryRegistrations {
    private let handlers: KnownHandlers
    private let sessions: HandlerSessions
    private let callers: Callers
    private let permissions: Permissions
    private let tasks: RouterTasks

    init(
        _ handlers: KnownHandlers,
        _ sessions: HandlerSessions,
        _ callers: Callers,
        _ permissions: Permissions,
        _ tasks: RouterTasks
    ) {
        self.handlers = handlers
        self.sessions = sessions
        self.callers = callers
        self.permissions = permissions
        self.tasks = tasks
    }

    private var registry: Registry { handlers.registry }
    private var bus: any BusNames { sessions.shared.bus }

    /// Registers a handler until the router exits.
    ///
    /// - Throws: `limitsExceeded`, and `notAllowed` if a file declares the handler, or its program is now running.
    func register(_ handler: Handler, caller: BusName?) async throws(OpenURLError) {
        let account = await callers.caller(caller).account
        // A claim hides the handler that a file declares, so the registry does not show whether there is one.
        guard handlers.temporary.reason(for: handler.id) != .claim else {
            throw OpenURLError(.notAllowed, "'openurl run' is running \(handler.id); end it first")
        }
        guard registry[handler.id]?.isTemporary != false else {
            throw OpenURLError(
                .notAllowed,
                "\(handler.id) is registered already; 'openurl unregister \(handler.id)' removes it"
            )
        }
        try handlers.changeTemporary { temporary throws(OpenURLError) in try temporary.register(handler, account) }
    }

    /// Removes a handler that is registered until the router exits.
    ///
    /// - Returns: Whether there was such a handler.
    /// - Throws: `notAllowed` if the handler is registered because its program is now running.
    func unregister(_ id: BundleIdentifier) throws(OpenURLError) -> Bool {
        guard let handler = registry[id], handler.isTemporary else { return false }
        guard handlers.temporary.reason(for: id) == .registration else {
            throw OpenURLError(.notAllowed, "the claim of \(id) ends with its program, which 'openurl run' started")
        }
        handlers.changeTemporary { $0.unregister(id) }
        return true
    }

    // MARK: Claims

    /// Claims schemes for a program that the caller runs.
    ///
    /// - Parameters:
    ///   - handler: The description of the handler that the program runs as.
    ///   - program: The program.
    /// - Throws: `alreadyClaimed`, `limitsExceeded`, `notAllowed`.
    func claim(
        _ schemes: [Scheme],
        for handler: Handler,
        _ program: Handler.Program,
        caller: BusName
    ) async throws(OpenURLError) {
        let sender = await callers.caller(caller)
        let id = handler.id
        guard let runner = sender.pid.flatMap(ProcessIdentity.init(pid:)) else {
            throw OpenURLError(.notAllowed, "the bus did not report which process claims \(schemes[0]):")
        }
        guard handler.kind == .native else {
            throw OpenURLError(.notAllowed, "\(id) does not take a name on the bus, so no program can run as it")
        }
        for scheme in schemes { try checkClaim(on: scheme, for: id, program, by: sender.source) }
        try await checkProcess(of: id, startedBy: runner)
        let watch = ConnectionWatch(on: bus) { [unowned self] in endClaim(of: id, caller) }
        let claim = TemporaryHandlers.Claim(
            handler: handler,
            program: program,
            schemes: schemes,
            owner: caller,
            account: sender.account,
            watch: watch
        )
        try handlers.changeTemporary { temporary throws(OpenURLError) in try temporary.add(claim) }
        sessions.shared.runners[id.busName] = runner
        do throws(OpenURLError) {
            try await watch.begin(caller, tasks)
        } catch {
            endClaim(of: id, caller)
            throw error
        }
        // If the router has restarted, the program already has its name.
        if let handler = registry[id], handler.isTemporary { await sessions.obtain(for: handler).processes.find() }
    }

    /// Checks that a program may claim a scheme for a handler.
    private func checkClaim(
        on scheme: Scheme,
        for id: BundleIdentifier,
        _ program: Handler.Program,
        by source: OpenContext.Source
    ) throws(OpenURLError) {
        let claimants = registry.handlers(claiming: scheme)
        if let fixed = claimants.first(where: \.isFixed) {
            throw OpenURLError(.notAllowed, "\(scheme) is a fixed scheme and stays with \(fixed.id)")
        }
        guard Callbacks.isClaimable(scheme, []) else {
            throw OpenURLError(.notAllowed, "no program can claim the scheme \(scheme):")
        }
        // If a running program has the scheme, that is a separate error. The handler's own program already has the
        // scheme; another program needs the rule, even if it takes the handler's name.
        let isHandler = registry.handler(named: id.rawValue)?.program == program
        let own = [isHandler ? id.rawValue : nil, registry.runningClaimant(of: scheme)?.id.rawValue]
        let other = registry.claimants(of: scheme).first { !own.contains($0) }
        try permissions.check(PolicyURL(scheme: scheme, host: nil), of: other, receivedBy: source)
    }

    /// Checks that no other process is the handler.
    private func checkProcess(
        of id: BundleIdentifier,
        startedBy runner: ProcessIdentity
    ) async throws(OpenURLError) {
        var pid: UInt32?
        do throws(CallError) {
            if let owner = try await bus.owner(of: id.busName) { pid = try await bus.credentials(of: owner).pid }
        } catch {
            // Meanwhile, the owner may have exited.
        }
        var isRouters = false
        // While the bus was being asked, the session may have changed.
        if let session = sessions[id], session.machine.state != .notRunning {
            let running = session.process.running.flatMap { UInt32(exactly: $0.pid) }
            // If the caller started the router, it is an ancestor of the router's processes too.
            isRouters = running == nil || session.process.isStartedByRouter
            pid = running ?? pid
        }
        if !isRouters, pid.map(runner.isAncestor) != false { return }
        throw OpenURLError(
            .alreadyClaimed,
            "\(id) is already running\(pid.map { ", as process \($0)" } ?? ""); 'openurl terminate \(id)' ends it"
        )
    }

    /// Ends a claim and its program.
    private func endClaim(of id: BundleIdentifier, _ owner: BusName) {
        handlers.changeTemporary { temporary in
            guard temporary.removeClaim(of: id, owner) != nil else { return }
            sessions.shared.runners[id.busName] = nil
            sessions[id]?.claimEnded()
        }
    }
}
