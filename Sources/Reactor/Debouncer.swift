/// Turns a burst of events into one action.
///
/// The action runs when no event has arrived for a while. If the burst continues, the action runs when a time limit has
/// passed.
///
/// Use a debouncer on the loop's thread only. An idle debouncer costs nothing.
public final class Debouncer {
    private weak var loop: EventLoop?
    private let quiet: Duration
    private let limit: Duration
    private let action: () -> Void
    private var timer: TimerID?
    private var lastEvent = ContinuousClock.now
    private var deadline = ContinuousClock.now

    /// Creates a debouncer.
    ///
    /// - Parameters:
    ///   - loop: The event loop that runs the action.
    ///   - quiet: The time without an event before the action runs.
    ///   - limit: The longest time from the first event of a burst to the action.
    ///   - action: A closure that is called on the loop's thread, once for each burst.
    public init(on loop: EventLoop, quiet: Duration, limit: Duration, action: @escaping () -> Void) {
        self.loop = loop
        self.quiet = quiet
        self.limit = limit
        self.action = action
    }

    /// Records an event. Call this method on the loop's thread.
    public func signal() {
        lastEvent = ContinuousClock.now
        guard timer == nil else { return }
        deadline = lastEvent + limit
        wait()
    }

    /// Forgets the events for which the action has not run yet. Call this method on the loop's thread.
    public func cancel() {
        if let timer { loop?.cancelTimer(timer) }
        timer = nil
    }

    private func wait() {
        // One timer serves all events of a burst. When the timer fires, it checks whether later events have arrived.
        let end = min(lastEvent + quiet, deadline)
        timer = loop?.schedule(at: end) { self.fire(at: end) }
    }

    private func fire(at end: ContinuousClock.Instant) {
        guard end >= min(lastEvent + quiet, deadline) else { return wait() }
        timer = nil
        action()
    }
}
