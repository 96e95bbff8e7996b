internal import UserFiles

/// A handler's recent crashes.
struct CrashHistory {
    /// The program file at the last launch; nil before the first launch, or if the file was missing.
    let program: FileVersion?
    private var times: [ContinuousClock.Instant] = []
    /// When the handler may be started again.
    private(set) var quarantineEnd: ContinuousClock.Instant?

    init(of program: FileVersion? = nil) {
        self.program = program
    }

    /// Whether there is nothing to forget.
    var isEmpty: Bool { times.isEmpty && quarantineEnd == nil }

    /// Returns whether the crashes belong to the given program file, or to no known file.
    func concerns(_ program: FileVersion?) -> Bool {
        guard let old = self.program, let program else { return self.program == program }
        return old.hasContents(of: program)
    }

    /// Adds a crash. Too many within the period start a quarantine.
    mutating func add(_ time: ContinuousClock.Instant, _ limits: RouterLimits) {
        times.append(time)
        times.removeAll { time - $0 > limits.crashPeriod }
        guard times.count >= limits.crashes else { return }
        times = []
        quarantineEnd = time + limits.quarantine
    }

    /// Returns the time until the handler may be started; nil if it may be started now.
    func quarantine(at time: ContinuousClock.Instant) -> Duration? {
        guard let end = quarantineEnd, end > time else { return nil }
        return time.duration(to: end)
    }
}
