/// The rule that passes on at most ten reports a second, and always the last one.
///
/// A report that comes too early is held. A later report takes its place.
package struct ReportPace: Sendable {
    /// The shortest time between two reports, except before the last one.
    package static let interval = Duration.milliseconds(100)

    /// The reaction to a report.
    package enum Decision: Hashable {
        /// The report is passed on now.
        case pass
        /// The report is held, and ``take(at:)`` is to be called at this time.
        case hold(until: ContinuousClock.Instant)
        /// The report has taken the place of one that is held.
        case replace
    }

    private var last: ContinuousClock.Instant?
    private var held: ProgressReport?

    /// Creates the rule for one URL.
    package init() {}

    /// Takes a report into account.
    package mutating func add(_ report: ProgressReport, at now: ContinuousClock.Instant) -> Decision {
        if held != nil {
            held = report
            return .replace
        }
        guard let last, now < last + Self.interval else {
            self.last = now
            return .pass
        }
        held = report
        return .hold(until: last + Self.interval)
    }

    /// Returns the report that is held, which is then passed on: when its time has come, or at the end of the work.
    package mutating func take(at now: ContinuousClock.Instant) -> ProgressReport? {
        guard let report = held else { return nil }
        held = nil
        last = now
        return report
    }
}
