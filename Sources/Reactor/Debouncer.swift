/// Turns a burst of events into one: acts when there has been quiet for a while, or at last when the burst goes on.
///
/// All of it belongs to the loop's thread. With nothing to wait for it costs nothing.
public final class Debouncer {
    private weak var loop: EventLoop?
    private let quiet: Duration
    private let limit: Duration
    private let action: () -> Void
    private var timer: TimerID?
    private var lastEvent = ContinuousClock.now
    private var deadline = ContinuousClock.now

    /// Makes a debouncer.
    ///
    /// - Parameters:
    ///   - quiet: how long no event comes before the action.
    ///   - limit: how long after a burst's first event the action is at the latest.
    ///   - action: called on the loop's thread, once for each burst.
    public init(on loop: EventLoop, quiet: Duration, limit: Duration, action: @escaping () -> Void) {
        self.loop = loop
        self.quiet = quiet
        self.limit = limit
        self.action = action
    }

    /// Tells of an event. Call it on the loop's thread.
    public func signal() {
        lastEvent = ContinuousClock.now
        guard timer == nil else { return }
        deadline = lastEvent + limit
        wait()
    }

    /// Forgets the events that have not been acted on. Call it on the loop's thread.
    public func cancel() {
        if let timer { loop?.cancelTimer(timer) }
        timer = nil
    }

    private func wait() {
        // One timer serves all events of a burst: when it fires it sees whether there were later ones.
        let end = min(lastEvent + quiet, deadline)
        timer = loop?.schedule(at: end) { self.fire(at: end) }
    }

    private func fire(at end: ContinuousClock.Instant) {
        guard end >= min(lastEvent + quiet, deadline) else { return wait() }
        timer = nil
        action()
    }
}
