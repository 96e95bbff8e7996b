/// The time that background tasks have taken during one stay in the background.
///
/// The time runs only while a task is open and the handler is in the background. The time does not run while the machine sleeps.
struct BackgroundTime {
    private var used = Duration.zero
    private var start: SuspendingClock.Instant?

    /// Whether the time runs.
    var isRunning: Bool { start != nil }

    /// Lets the time run, or stops it.
    mutating func setRunning(_ runs: Bool, at now: SuspendingClock.Instant) {
        used = used(at: now)
        start = runs ? now : nil
    }

    /// The rest of a time limit; zero when the time is over.
    func left(of limit: Duration, at now: SuspendingClock.Instant) -> Duration {
        max(limit - used(at: now), .zero)
    }

    private func used(at now: SuspendingClock.Instant) -> Duration {
        used + (start?.duration(to: now) ?? .zero)
    }
}
