internal import OpenURLBus
internal import SchemeRegistry

/// A request on its way, for the log and for the programs that watch requests.
///
/// It belongs to the router's actor. While nobody is watching and the log is off, requests have no observation.
final class Observation {
    private(set) var request: ObservedRequest
    /// Whether this request is waiting to be shown.
    var isChanged = false
    private let monitor: Monitor
    private let begin = TracePhase.now

    init(_ request: ObservedRequest, _ monitor: Monitor) {
        self.request = request
        self.monitor = monitor
    }

    /// Changes the facts about the request.
    func note(_ change: (inout ObservedRequest) -> Void) {
        change(&request)
        monitor.changed(self)
    }

    /// Records the handler or application that was chosen, the sender, and the policy's decision.
    ///
    /// - Parameters:
    ///   - handler: the handler that the sender asked for.
    ///   - desktopEntry: the desktop entry that passed on the URL; nil if none did.
    func choose(
        _ destination: Destination,
        _ snapshot: RegistrySnapshot,
        handler: String?,
        desktopEntry: String?,
        from source: OpenContext.Source,
        _ verdict: PolicyVerdict
    ) {
        note {
            $0.choice = ObservedRequest.Choice(
                url: destination.url,
                file: destination.file,
                handler: handler,
                desktopEntry: desktopEntry,
                snapshot: snapshot
            )
            $0.handler = destination.claimant.id
            $0.source = source
            $0.verdict = verdict
        }
    }

    /// Records one of the router's steps.
    func reach(_ phase: TracePhase) {
        note { $0.trace.append(phase) }
    }

    /// Records the outcome, but only once.
    func end(_ outcome: Result<OpenResult, OpenURLError>) {
        guard request.outcome == nil else { return }
        let now = TracePhase.now
        var end = ObservedRequest.Outcome(microseconds: now > begin ? now - begin : 0)
        switch outcome {
        case .success(let result):
            end.way = result.way
            request.handler = result.handler
            request.requestID = result.requestID ?? request.requestID
            // The handler's steps come with its answer.
            if !result.trace.isEmpty { request.trace = result.trace }
        case .failure(let error): end.error = error
        }
        finish(end)
    }

    /// Records the end of a request that has no result.
    ///
    /// If the request has ended already, it is shown again, and its entry in the log is replaced. This happens if a
    /// command has taken the URL and then fails.
    func end(_ error: OpenURLError?) {
        let now = TracePhase.now
        let way = request.outcome?.way
        finish(ObservedRequest.Outcome(microseconds: now > begin ? now - begin : 0, way: way, error: error))
    }

    private func finish(_ outcome: ObservedRequest.Outcome) {
        request.outcome = outcome
        monitor.changed(self)
        monitor.ended(request)
    }
}
