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
            shared.log.info("cancelled", metadata: ["handler": "\(id)", "request": "\(request.id ?? "")"])
            request.cancelTimer = shared.loop.schedule(at: .now + shared.limits.cancelTime) { stop.abandon() }
            shared.tasks.start {
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
            try await shared.bus.cancel(name, id, at: owner, timeout: shared.limits.cancelTime)
            return true
        } catch {
            shared.log.debug("\(id) did not cancel: \(error)", metadata: ["request": "\(name)"])
            if case .remote = error { return false }
            return true
        }
    }

    /// Passes on a handler's report about a request if the caller has a handle.
    func report(_ report: ProgressReport, on request: OpenRequest) {
        guard let handle = request.stop?.handle else { return }
        let reports = request.reports ?? PassedReports(to: handle, shared.signals, shared.loop)
        request.reports = reports
        reports.add(report)
    }
}
