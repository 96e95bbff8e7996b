internal import DBus
internal import OpenURLBus
internal import Policy
internal import Reactor
internal import SchemeRegistry

/// The handlers that are registered for a while.
extension URLRouter {
    /// Registers a handler until the router ends.
    ///
    /// - Returns: the schemes to be announced.
    /// - Throws: `limitsExceeded`, and `notAllowed` if a file declares the handler, or its program runs now.
    func registerTemporarily(_ handler: Handler, caller: BusName?) async throws(OpenURLError) -> [String] {
        let account = await callers.caller(caller).account
        guard registry[handler.id]?.isTemporary != false else {
            throw OpenURLError(
                .notAllowed,
                "\(handler.id) is registered already; 'openurl unregister \(handler.id)' removes it"
            )
        }
        return try changeTemporary { temporary throws(OpenURLError) in try temporary.register(handler, account) }
    }

    /// Removes a handler that is registered for a while.
    ///
    /// - Returns: the schemes to be announced; nil if the handler is not registered for a while.
    /// - Throws: `notAllowed` for a handler that is there because its program runs now.
    func unregisterTemporary(_ id: BundleIdentifier) throws(OpenURLError) -> [String]? {
        guard let handler = registry[id], handler.isTemporary else { return nil }
        guard temporary.reason(for: id) == .registration else {
            throw OpenURLError(.notAllowed, "the claim of \(id) ends with its program, which 'openurl run' has started")
        }
        return changeTemporary { $0.unregister(id) }
    }

    // MARK: Claims

    /// Claims schemes for a program that the caller runs.
    ///
    /// - Parameters:
    ///   - handler: the description of the handler that the program is.
    ///   - program: the program.
    /// - Returns: the schemes to be announced.
    /// - Throws: `alreadyClaimed`, `limitsExceeded`, `notAllowed`.
    func claim(
        _ schemes: [Scheme],
        for handler: Handler,
        _ program: Handler.Program,
        caller: BusName
    ) async throws(OpenURLError) -> [String] {
        let sender = await callers.caller(caller)
        let id = handler.id
        guard let runner = sender.pid.flatMap(ProcessIdentity.init(pid:)) else {
            throw OpenURLError(.notAllowed, "the bus does not tell the process that claims \(schemes[0]):")
        }
        guard handler.kind == .native else {
            throw OpenURLError(.notAllowed, "\(id) does not take a name on the bus, so no program can run as it")
        }
        for scheme in schemes { try checkClaim(on: scheme, by: sender.source) }
        try await checkProcess(of: id, startedBy: runner)
        let claim = TemporaryHandlers.Claim(
            handler: handler,
            program: program,
            schemes: schemes,
            owner: caller,
            account: sender.account
        )
        var changed = try changeTemporary { temporary throws(OpenURLError) in try temporary.add(claim) }
        sessions.host.runners[id.busName] = runner
        do throws(CallError) {
            let watch = try await bus.watchOwner(of: caller) { [unowned self] _, new in
                if new == nil { assumeIsolated { $0.endClaim(of: id, caller) } }
            }
            if !temporary.keep(watch, of: id, caller) { bus.unwatchOwner(watch) }
            // The connection may have ended before the watch began.
            if try await bus.owner(of: caller) == nil { changed += removeClaim(of: id, caller) }
        } catch {
            _ = removeClaim(of: id, caller)
            throw OpenURLError(.limitsExceeded, "the bus does not tell the end of the program: \(error)")
        }
        // After a restart of the router, the program has its name already.
        if let handler = registry[id], handler.isTemporary { await sessions.obtain(for: handler).findProcess() }
        return changed
    }

    /// Checks that a program may claim a scheme.
    private func checkClaim(on scheme: Scheme, by source: OpenContext.Source) throws(OpenURLError) {
        let claimants = registry.handlers(claiming: scheme)
        if let fixed = claimants.first(where: \.isFixed) {
            throw OpenURLError(.notAllowed, "\(scheme) is a fixed scheme and stays with \(fixed.id)")
        }
        guard isClaimable(scheme, []) else {
            throw OpenURLError(.notAllowed, "no program can claim the scheme \(scheme):")
        }
        let url = PolicyURL(scheme: scheme, host: nil)
        if let rule = permissions.rule(for: url, from: source), rule.decision != .allow {
            let pattern = url.pattern(from: PolicyCaller(source).source)
            throw PolicyVerdict(decision: .deny, reason: .rule(rule)).refusal(pattern, to: source)
        }
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
            // The owner may have gone meanwhile.
        }
        var isRouters = false
        // The session may have changed during the questions.
        if let session = sessions[id], session.machine.state != .notRunning {
            let running = session.process.running.flatMap { UInt32(exactly: $0.pid) }
            // A router that the caller has started is the parent of the processes that it starts.
            isRouters = running == nil || session.process.isStartedByRouter
            pid = running ?? pid
        }
        if !isRouters, pid.map(runner.isAncestor) != false { return }
        throw OpenURLError(
            .alreadyClaimed,
            "\(id) runs already\(pid.map { ", as process \($0)" } ?? ""); 'openurl terminate \(id)' ends it"
        )
    }

    /// Ends a claim because the connection of its owner has ended.
    private func endClaim(of id: BundleIdentifier, _ owner: BusName) {
        let changed = removeClaim(of: id, owner)
        announceChanges(of: changed)
    }

    /// Removes a claim, and ends its program.
    ///
    /// - Returns: the schemes to be announced.
    private func removeClaim(of id: BundleIdentifier, _ owner: BusName) -> [String] {
        changeTemporary { temporary in
            guard let claim = temporary.removeClaim(of: id, owner) else { return }
            if let watch = claim.watch { bus.unwatchOwner(watch) }
            sessions.host.runners[id.busName] = nil
            sessions[id]?.claimEnded()
        }
    }
}
