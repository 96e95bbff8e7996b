internal import Reactor

/// A deadline on the event loop that can be set, moved and cancelled.
///
/// A timer belongs to the router's actor.
final class RestartableTimer {
    private let loop: EventLoop
    private var id: TimerID?

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Whether the deadline is set and has not come yet.
    var isRunning: Bool { id != nil }

    /// Sets the deadline, instead of an earlier one, and calls `body` once when the deadline comes.
    func start(at deadline: ContinuousClock.Instant, _ body: @escaping () -> Void) {
        cancel()
        id = loop.schedule(at: deadline) { [self] in
            id = nil
            body()
        }
    }

    /// Sets the deadline to a time from now.
    func start(in time: Duration, _ body: @escaping () -> Void) {
        start(at: .now + time, body)
    }

    /// Forgets the deadline, if one is set.
    func cancel() {
        if let id { loop.cancelTimer(id) }
        id = nil
    }
}
