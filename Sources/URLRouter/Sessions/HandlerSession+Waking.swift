internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// Starts and wakes the handler for something other than a URL.
extension HandlerSession {
    /// Starts or wakes the handler without changing the foreground, gives it what the request holds, and returns when
    /// the handler is done and has its name ("Figure 3-3").
    ///
    /// Like a URL, the request waits in the handler's queue behind every earlier request.
    ///
    /// - Parameter sender: finds out which handler asks; nil for any other program.
    /// - Returns: the way in which the router reached the handler.
    @discardableResult
    func wake(
        _ request: OpenRequest,
        sender: () async -> BundleIdentifier? = { nil }
    ) async throws(OpenURLError) -> OpenResult {
        try accept(request)
        defer { leave(request) }
        request.context.sourceApplication = await sender()?.rawValue
        request.complete()
        let result = try await deliver(request)
        if let owner {
            if request.isWakeMissing { try await wakeWithoutMethod(request, owner) }
            await learnState(of: owner)
            // Without a word from the handler, it is where it was launched.
            if machine.state == .running(owner: owner, .inactive) { handle(.delivers(inBackground: true)) }
        }
        await waitForName()
        return result
    }

    /// Hands a request over to a handler that has its turn.
    func callWake(
        _ request: OpenRequest,
        _ owner: BusName,
        _ notifications: [String: Value]
    ) async throws(CallError) {
        var context = request.waking
        context.notifications.merge(notifications) { own, _ in own }
        if machine.state == .running(owner: owner, .inactive) {
            // If a call made the bus start the handler, the bus delivers that call, which may bring the handler to the
            // foreground. An empty notification is answered only after all events that the handler has received so far.
            do throws(CallError) {
                try await shared.bus.notify([:], id, at: owner, timeout: openTimeout)
            } catch {
                shared.log.debug("\(id) did not take notifications: \(error)")
            }
            await learnState(of: owner)
        }
        if request.isCancelled {
            process.notifications.putBack(notifications)
            throw .cancelled
        }
        // A handler that runs already, and has missed nothing, need not hear of it.
        guard machine.state == .running(owner: owner, .inactive) || !context.isEmpty else { return }
        requests.send(request)
        request.wasHandedOver = request.waking.push != nil || request.waking.task != nil
        do throws(CallError) {
            request.wakeAnswer = try await shared.bus.wake(context, id, at: owner, timeout: shared.limits.wakeTime)
        } catch .remote(let error) where error.isFromMissingMethod {
            request.isWakeMissing = true
            for (kind, value) in context.notifications { process.notifications.add(kind, value) }
        }
    }

    /// Wakes a handler in another language, or of an earlier contract, which launches into the background with
    /// `HandlerInterface.enterBackground`.
    private func wakeWithoutMethod(_ request: OpenRequest, _ owner: BusName) async throws(OpenURLError) {
        guard request.waking.push == nil, request.waking.task == nil else {
            let things: QuotingText = request.waking.push == nil ? "perform tasks" : "accept pushes"
            throw OpenURLError(
                .declined,
                "\(id) does not \(things): it does not implement \(HandlerInterface.name).Wake"
            )
        }
        guard request.waking.localNotification == nil else {
            throw OpenURLError(.declined, "\(id) does not implement \(HandlerInterface.name).Wake")
        }
        if machine.state == .running(owner: owner, .inactive) { try await leaveForeground() }
        if self.owner == owner { await notifications.send(to: owner) }
    }

    /// Asks a process whose launch the router has not seen for its state.
    private func learnState(of owner: BusName) async {
        guard machine.state == .running(owner: owner, .inactive) else { return }
        guard let state = await processes.reportedState(of: owner), state != .notRunning else { return }
        handle(.tellsState(owner: owner, state))
    }

    /// Waits until a woken handler has its name again, or has exited without it.
    func waitForName() async {
        // If this takes too long, the timer for waking ends the wait.
        _ = await wait(for: openTimeout) { _ in self.machine.woken == nil }
    }
}

extension WakeContext {
    /// Whether there is nothing to do for a handler that is running.
    fileprivate var isEmpty: Bool {
        notifications.isEmpty && push == nil && localNotification == nil && task == nil
    }
}
