/// When a handler's process has crashed lately.
struct CrashHistory {
    private var times: [ContinuousClock.Instant] = []
    /// Until when the handler is not started.
    private(set) var quarantineEnd: ContinuousClock.Instant?

    /// Takes note of a crash; several within a period are one quarantine.
    mutating func add(_ time: ContinuousClock.Instant, _ limits: RouterLimits) {
        times.append(time)
        times.removeAll { time - $0 > limits.crashPeriod }
        guard times.count >= limits.crashes else { return }
        times = []
        quarantineEnd = time + limits.quarantine
    }

    /// How long the handler is not started any more; nil if it may be.
    func quarantine(at time: ContinuousClock.Instant) -> Duration? {
        guard let end = quarantineEnd, end > time else { return nil }
        return time.duration(to: end)
    }
}
