/// The recent crashes of a handler.
struct CrashHistory {
    private var times: [ContinuousClock.Instant] = []
    /// The end of the time in which the handler is not started.
    private(set) var quarantineEnd: ContinuousClock.Instant?

    /// Notes a crash. Several crashes within the period start a quarantine.
    mutating func add(_ time: ContinuousClock.Instant, _ limits: RouterLimits) {
        times.append(time)
        times.removeAll { time - $0 > limits.crashPeriod }
        guard times.count >= limits.crashes else { return }
        times = []
        quarantineEnd = time + limits.quarantine
    }

    /// The rest of the time in which the handler is not started; nil if it may be started.
    func quarantine(at time: ContinuousClock.Instant) -> Duration? {
        guard let end = quarantineEnd, end > time else { return nil }
        return time.duration(to: end)
    }
}
