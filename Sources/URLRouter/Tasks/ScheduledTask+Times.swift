internal import DBus
internal import OpenURLBus
internal import Reactor

/// The rules for the times of tasks. All times are in milliseconds.
extension ScheduledTask {
    /// The longest time for which a task waits for others.
    private static let longestDelay: UInt64 = 5 * 60_000
    /// Number of attempts at a task before it is given up, or waits for its next turn.
    static let attempts: UInt32 = 8
    /// Size of the stored reason of a failure in bytes.
    static let errorBytes = 512
    private static let shortestRetry: UInt64 = 60_000
    private static let longestRetry: UInt64 = 60 * 60_000
    /// How many times longer the interval of a fetch without new data can become.
    private static let longestStretch: UInt64 = 4
    /// The end of the year 9999.
    private static let end: UInt64 = 253_402_300_800_000

    /// Creates a task from a handler's options, which have been checked.
    init(_ handler: String, _ name: String, _ options: TaskOptions, at now: UInt64) {
        self.init(handler: handler, name: name, next: now)
        interval = options.interval
        requirements = options.sortedRequirements
        wait(options.delay ?? options.interval ?? 0, from: now)
    }

    /// Whether its times and its failures can be calculated with. A damaged file may have any number.
    var isPossible: Bool {
        let shortest = UInt64(TasksInterface.shortestInterval.milliseconds)
        let longest = UInt64(TasksInterface.longestWait.milliseconds)
        return max(next, latest) < Self.end && failures < Self.attempts
            && (shortest...longest).contains(interval ?? shortest)
            && (shortest...Self.longestStretch * longest).contains(stretchedInterval ?? shortest)
    }

    /// Makes the task wait no longer than it could if it had been scheduled now. The clock may have been wrong, or set
    /// while no router was running.
    mutating func limitWait(from now: UInt64) {
        let longest = UInt64(TasksInterface.longestWait.milliseconds)
        let wait = interval.map { max(stretchedInterval ?? $0, Self.longestRetry) } ?? longest
        if next > now + wait { self.wait(wait, from: now) }
    }

    /// Waits from now on. The tenth of the time, or five minutes, may be added to it.
    private mutating func wait(_ time: UInt64, from now: UInt64) {
        next = now + time
        latest = next + min(time / 10, Self.longestDelay)
    }

    /// Moves the times by as much as the clock has been set, in milliseconds.
    mutating func move(by jump: Int64) {
        for time in [\ScheduledTask.next, \.latest] {
            let moved = Int64(clamping: self[keyPath: time]).addingReportingOverflow(jump)
            self[keyPath: time] = min(UInt64(clamping: moved.partialValue), Self.end - 1)
        }
    }

    /// Notes that the task is done.
    ///
    /// - Returns: whether it is run again.
    mutating func end(hasNewData: Bool, at now: UInt64) -> Bool {
        failures = 0
        error = nil
        guard let interval else { return false }
        if name == TasksInterface.fetch {
            let longer = (stretchedInterval ?? interval) * 3 / 2
            stretchedInterval = hasNewData ? nil : min(longer, interval * Self.longestStretch)
        }
        // A run that was late, to share its wake-up with others, does not make the later ones late.
        let time = stretchedInterval ?? interval
        wait(time, from: next <= now && now - next < time ? next : now)
        return true
    }

    /// Notes that an attempt has failed.
    ///
    /// - Returns: whether it is run again.
    mutating func fail(_ reason: OpenURLError, at now: UInt64) -> Bool {
        failures += 1
        error = reason.dbusError
        guard failures >= Self.attempts else {
            wait(min(Self.shortestRetry << UInt64(failures - 1), Self.longestRetry), from: now)
            return true
        }
        guard let interval else { return false }
        failures = 0
        wait(stretchedInterval ?? interval, from: now)
        return true
    }
}

extension [ScheduledTask] {
    /// Returns the time at which to wake up for those tasks that are not due; nil if there are none.
    ///
    /// This is the time by which the first of them must be run. All whose times have come by then are run together.
    func wakeUp(at now: UInt64) -> UInt64? { filter { $0.next > now }.map(\.latest).min() }
}

extension TaskOptions {
    /// The conditions without repetitions, in a fixed order.
    var sortedRequirements: [TaskRequirement] { TaskRequirement.allCases.filter(requirements.contains) }
}
