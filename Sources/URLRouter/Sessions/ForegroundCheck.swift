internal import DBus
internal import OpenURLBus

/// The part of a handler's session that ``ForegroundCheck`` uses.
protocol ForegroundView: SessionView {
    var requests: RequestQueue { get }
}

/// Takes a handler to the background if the requests that would have brought it to the foreground were withdrawn.
/// There, it is suspended like any other handler with nothing to do.
///
/// It belongs to the router's actor.
final class ForegroundCheck {
    private let processes: HandlerProcesses
    private unowned let session: any ForegroundView

    init(_ processes: HandlerProcesses, _ session: any ForegroundView) {
        self.processes = processes
        self.session = session
    }

    private var process: HandlerProcess { session.process }

    /// Takes a process to the background if all requests for which it was started were withdrawn before it was ready.
    func leaveIfUnused() {
        guard case .running(_, .inactive) = session.machine.state, process.launched != nil, process.isStartedByRouter,
            !process.hasGotRequests, session.requests.isEmpty, !processes.stateGate.isClosed
        else { return }
        session.handle(.losesForeground)
    }

    /// Notes that a handler may not be in the foreground, because a request was cancelled that would have brought it
    /// there.
    func doubt(after request: OpenRequest, _ owner: BusName) {
        if session.machine.owner == owner, request.bringsToForeground { process.isForegroundDoubtful = true }
    }

    /// Corrects the state of a handler that never got to the foreground, because the URL was cancelled while it was
    /// waiting in the handler's own queue. Once the handler has nothing else to do, it is taken to the background.
    func check() {
        guard process.isForegroundDoubtful, let owner = session.machine.owner, session.requests.isEmpty,
            !process.isBusy
        else { return }
        process.isForegroundDoubtful = false
        guard session.machine.state.isInForeground else { return }
        let sent = session.requests.lastSendNumber
        session.startTask { [self, session] in
            guard let state = await processes.reportedState(of: owner), session.machine.owner == owner else { return }
            // If the handler was sent something in the meantime, the answer may be out of date.
            guard session.requests.isEmpty, session.requests.lastSendNumber == sent else {
                process.isForegroundDoubtful = true
                return check()
            }
            if state == .background || state == .notRunning { session.handle(.losesForeground) }
        }
    }
}
