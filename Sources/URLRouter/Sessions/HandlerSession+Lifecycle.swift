internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// Handles requests about the handler itself, without a URL.
extension HandlerSession {
    /// Starts the handler if it is not running, asks it to show itself, and returns when it has.
    ///
    /// Like a URL, the request waits in the handler's queue behind every earlier request.
    ///
    /// - Parameters:
    ///   - request: a request to show the handler.
    ///   - sender: finds out which handler asks; nil for any other program.
    /// - Returns: the way in which the router reached the handler.
    @discardableResult
    func activate(
        _ request: OpenRequest,
        sender: () async -> BundleIdentifier? = { nil }
    ) async throws(OpenURLError) -> OpenResult {
        try accept(request)
        defer { leave(request) }
        request.context.sourceApplication = await sender()?.rawValue
        shared.focusTokens.spend(&request.options)
        request.complete()
        return try await deliver(request)
    }

    /// Brings the handler back to the foreground after it was only in the background because the machine slept.
    ///
    /// It is not asked to show itself, because its windows are where its user has left them.
    func comeBack() async throws(OpenURLError) {
        let request = OpenRequest.comingBack()
        try accept(request)
        defer { leave(request) }
        request.complete()
        _ = try await deliver(request)
    }

    /// Moves the handler to the background. Returns when it is there, or has exited because its manifest says so.
    ///
    /// - Returns: the error with which the handler answered, although it is in the background; nil if there is none.
    @discardableResult
    func leaveForeground() async throws(OpenURLError) -> OpenURLError? {
        let hasToLeave = if case .running(_, let activity) = machine.state { activity != .background } else { false }
        handle(.losesForeground)
        let isThere = await wait(for: openTimeout) { state in
            if case .running(_, let activity) = state { activity != .leaving } else { true }
        }
        guard isThere else {
            throw OpenURLError(.timedOut, "\(id) is still busy; it goes to the background when it has finished")
        }
        switch machine.state {
        case .ending, .notRunning, .lookingForOwner, .starting, .lostProcess:
            if machine.exitsOnSuspend { return nil }
            throw processes.verdict ?? OpenURLError(.handlerCrashed, "\(id) exited on its way to the background")
        case .running(_, .foreground):
            throw OpenURLError(.notAllowed, "\(id) is in the foreground again, because a URL has arrived")
        case .running, .suspending, .suspended, .waking: return hasToLeave ? process.backgroundFailure : nil
        }
    }

    /// Moves the handler to the background, suspends it, and returns when its process is stopped.
    func suspend() async throws(OpenURLError) {
        let failure = try await leaveForeground()
        await waitForName()
        if let reason = background.reasonNotToSuspend {
            throw OpenURLError(.notAllowed, "\(id) is not suspended: \(reason)")
        }
        if case .running(_, .background) = machine.state { handle(.timeOver) }
        // This limit is longer than that of the state's own watchdog, unless the user or a debugger holds the process.
        guard await wait(for: openTimeout, until: { if case .suspending = $0 { false } else { true } }) else {
            throw OpenURLError(.timedOut, "\(id) did not say whether it can be suspended")
        }
        switch machine.state {
        case .running:
            let reason = background.reasonNotToSuspend ?? process.suspensionProblem ?? "it has something to do"
            throw OpenURLError(.notAllowed, "\(id) is not suspended: \(reason)")
        case .suspended, .waking:
            if let reason = process.suspensionProblem {
                throw OpenURLError(.notAllowed, "\(id) is not suspended: \(reason)")
            }
            if let failure { throw failure }
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .ending:
            throw processes.verdict ?? OpenURLError(.handlerCrashed, "\(id) exited before it was suspended")
        }
    }

    /// Ends the handler, and returns when its process is gone.
    func terminate() async throws(OpenURLError) {
        let connection = machine.connection
        let isRoutersToEnd = process.isRoutersToEnd
        process.isUnwanted = true
        handle(.terminated)
        let isGone = await wait(for: openTimeout + shared.limits.endTimeout) { state in
            switch state {
            case .notRunning, .lookingForOwner, .starting, .lostProcess: true
            case .running(let owner, _): owner != connection
            case .suspending, .suspended, .waking, .ending: false
            }
        }
        if !isGone { throw OpenURLError(.timedOut, "\(id) did not exit") }
        guard !isRoutersToEnd, let connection else { return }
        do throws(CallError) {
            guard try await shared.bus.owner(of: id) == connection else { return }
        } catch {
            shared.log.debug("the bus did not report who owns \(id): \(error)")
        }
        throw OpenURLError(
            .notAllowed,
            "the process that owns \(id) does not run the handler's program, and did not exit when it was asked to"
        )
    }

    /// Ends the program whose claim has ended, and everything that waits for it.
    func claimEnded() {
        process.isUnwanted = true
        handle(.terminated)
    }
}
