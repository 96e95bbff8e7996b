internal import UserFiles

/// The recent crashes of a handler.
struct CrashHistory {
    /// The program file of the last launch; nil before the first launch, and if the file was missing.
    let program: FileVersion?
    private var times: [ContinuousClock.Instant] = []
    /// The end of the time in which the handler is not started.
    private(set) var quarantineEnd: ContinuousClock.Instant?

    init(of program: FileVersion? = nil) {
        self.program = program
    }

    /// Whether there is nothing to forget.
    var isEmpty: Bool { times.isEmpty && quarantineEnd == nil }

    /// Whether the crashes are those of a program file, or of no file that is known.
    func concerns(_ program: FileVersion?) -> Bool {
        guard let old = self.program, let program else { return self.program == program }
        return old.hasContents(of: program)
    }

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
