/// The time that background tasks have taken during one stay in the background.
///
/// It runs only while a task is open and the handler is in the background, and stops while the machine sleeps.
struct BackgroundTime {
    private var used = Duration.zero
    private var start: SuspendingClock.Instant?

    var isRunning: Bool { start != nil }

    /// Starts or stops measuring the time.
    mutating func setRunning(_ runs: Bool, at now: SuspendingClock.Instant) {
        used = used(at: now)
        start = runs ? now : nil
    }

    /// Returns how much of a time limit is left; zero when it has run out.
    func left(of limit: Duration, at now: SuspendingClock.Instant) -> Duration {
        max(limit - used(at: now), .zero)
    }

    private func used(at now: SuspendingClock.Instant) -> Duration {
        used + (start?.duration(to: now) ?? .zero)
    }
}
