/// Turns a burst of events into one action.
///
/// The action runs when no event has arrived for some time or, if the burst continues, when a time limit has passed. If
/// it is slow, it runs less often: after each run, it rests nine times as long as the run took, but at most
/// ``longestRest``.
///
/// Use a debouncer only on the loop's thread. While idle, it costs nothing.
public final class Debouncer {
    private weak var loop: EventLoop?
    private let quiet: Duration
    private let limit: Duration
    private let action: () -> Void
    private var timer: TimerID?
    private var lastEvent = ContinuousClock.now
    private var deadline = ContinuousClock.now
    /// Time before which the action does not run again.
    private var restEnd = ContinuousClock.now

    /// Longest time between two runs of a slow action.
    public static let longestRest = Duration.seconds(5)

    /// Creates a debouncer.
    ///
    /// - Parameters:
    ///   - loop: The event loop that runs the action.
    ///   - quiet: The time that must pass without an event before the action runs.
    ///   - limit: The longest time from the first event of a burst to the action.
    ///   - action: Called on the loop's thread, once for each burst.
    public init(on loop: EventLoop, quiet: Duration, limit: Duration, action: @escaping () -> Void) {
        self.loop = loop
        self.quiet = quiet
        self.limit = limit
        self.action = action
    }

    /// Records an event. Call this on the loop's thread.
    public func signal() {
        lastEvent = ContinuousClock.now
        guard timer == nil else { return }
        deadline = lastEvent + limit
        wait()
    }

    /// Forgets all events for which the action has not run yet. Call this on the loop's thread.
    public func cancel() {
        if let timer { loop?.cancelTimer(timer) }
        timer = nil
    }

    private func wait() {
        // One timer serves all events of a burst. When it fires, it checks whether later events have arrived.
        let end = self.end
        timer = loop?.schedule(at: end) { self.fire(at: end) }
    }

    /// Time at which the action runs if no other event arrives.
    private var end: ContinuousClock.Instant { max(min(lastEvent + quiet, deadline), restEnd) }

    private func fire(at end: ContinuousClock.Instant) {
        guard end >= self.end else { return wait() }
        timer = nil
        let start = ContinuousClock.now
        action()
        let now = ContinuousClock.now
        restEnd = now + min(start.duration(to: now) * 9, Self.longestRest)
    }
}
