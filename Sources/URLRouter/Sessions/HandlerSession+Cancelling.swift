internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor

/// Lets callers cancel requests through their handles, and passes the handler's reports on to them.
extension HandlerSession {
    /// Withdraws a request that its caller has cancelled.
    ///
    /// If the request is still waiting, it leaves the queue, and the handler never sees it. If the handler already has
    /// it, the handler is asked to stop, and has ``RouterLimits/cancelTime`` to answer.
    func cancel(_ request: OpenRequest) {
        switch request.turn {
        case .waiting, .suspended:
            requests.remove(request)
            request.resolve(.failure(.withdrawn))
            deliverWaiting()
        case .granted(let owner) where request.wasHandedOver:
            guard let stop = request.stop else { return }
            host.log.info("cancelled", metadata: ["handler": "\(id)", "request": "\(request.id ?? "")"])
            request.cancelTimer = host.loop.schedule(at: .now + host.limits.cancelTime) { stop.abandon() }
            host.tasks.start {
                // If the handler lacks the method, it just continues, so there is nothing to wait for.
                if await !self.askToCancel(request, owner) { stop.abandon() }
            }
        case .granted, .refused:
            // The request has not been sent yet, or already has its outcome.
            break
        }
    }

    /// Asks a handler to stop its work on a URL.
    ///
    /// - Returns: false if the handler does not accept such requests.
    @discardableResult
    func askToCancel(_ request: OpenRequest, _ owner: BusName) async -> Bool {
        guard let name = request.id else { return false }
        do throws(CallError) {
            try await host.bus.cancel(name, id, at: owner, timeout: host.limits.cancelTime)
            return true
        } catch {
            host.log.debug("\(id) did not cancel: \(error)", metadata: ["request": "\(name)"])
            if case .remote = error { return false }
            return true
        }
    }

    /// Passes on a handler's report about a request if the caller has a handle.
    func report(_ report: ProgressReport, on request: OpenRequest) {
        guard let handle = request.stop?.handle else { return }
        let reports = request.reports ?? PassedReports(to: handle, on: host.bus, host.loop)
        request.reports = reports
        reports.add(report)
    }

    /// Notes that a handler may not be in the foreground, because a request was cancelled that would have brought it
    /// there.
    func doubtForeground(after request: OpenRequest, _ owner: BusName) {
        if self.owner == owner, request.bringsToForeground { process.isForegroundDoubtful = true }
    }

    /// Corrects the state of a handler that never got to the foreground, because the URL was cancelled while it was
    /// waiting in the handler's own queue. Once the handler has nothing else to do, it is taken to the background.
    func checkForeground() {
        guard process.isForegroundDoubtful, let owner, requests.isEmpty, !process.isBusy else { return }
        process.isForegroundDoubtful = false
        guard machine.state.isInForeground else { return }
        let sent = requests.lastSendNumber
        startTask { [self] in
            do throws(CallError) {
                let state = HandlerState(
                    rawValue: try await host.bus.state(of: id, at: owner, timeout: .seconds(1))
                )
                guard self.owner == owner else { return }
                // If the handler was sent something in the meantime, the answer may be out of date.
                guard requests.isEmpty, requests.lastSendNumber == sent else {
                    process.isForegroundDoubtful = true
                    return checkForeground()
                }
                if state == .background || state == .notRunning { handle(.losesForeground) }
            } catch {
                // A handler in another language may lack the property.
                host.log.debug("\(id) did not report its state: \(error)")
            }
        }
    }

    /// Returns the error for a cancelled request that the handler has not answered.
    func cancelled(_ request: OpenRequest, _ owner: BusName) -> OpenURLError {
        guard request.wasHandedOver else { return .withdrawn }
        doubtForeground(after: request, owner)
        watchdog.becomesBusy(owner)
        return OpenURLError(.cancelled, "the request was cancelled; \(id) has the URL and may still open it")
    }
}
