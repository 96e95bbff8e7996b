internal import Reactor

/// A deadline on the event loop that can be set, moved and cancelled.
///
/// It belongs to the router's actor.
final class RestartableTimer {
    private let loop: EventLoop
    private let awake: () -> SuspendingClock.Instant
    private var id: TimerID?

    /// - Parameter awake: a clock that stops while the machine sleeps; tests use their own.
    init(on loop: EventLoop, awake: @escaping () -> SuspendingClock.Instant = { .now }) {
        self.loop = loop
        self.awake = awake
    }

    /// Whether the deadline is set and has not come yet.
    var isRunning: Bool { id != nil }

    /// Sets the deadline in place of an earlier one, and calls `body` once when it comes.
    func start(at deadline: ContinuousClock.Instant, _ body: @escaping () -> Void) {
        cancel()
        id = loop.schedule(at: deadline) { [self] in
            id = nil
            body()
        }
    }

    /// Sets the deadline to the given time from now.
    ///
    /// This time does not pass while the machine sleeps, because a process that was asleep as well has not used it.
    func start(in time: Duration, _ body: @escaping () -> Void) {
        let deadline = awake() + time
        start(at: .now + time) { [self] in
            let left = awake().duration(to: deadline)
            if left > .zero { start(in: left, body) } else { body() }
        }
    }

    /// Forgets the deadline, if one is set.
    func cancel() {
        if let id { loop.cancelTimer(id) }
        id = nil
    }
}
