/// Limits reports to ten a second, and always passes on the last one.
///
/// A report that comes too early is held until its time has come, unless a later one takes its place.
package struct ReportPace: Sendable {
    /// Minimum time between two reports, except before the last one.
    package static let interval = Duration.milliseconds(100)

    /// The action to take for a report.
    package enum Decision: Hashable {
        /// Pass it on now.
        case pass
        /// Hold it, and call ``take(at:)`` at this time.
        case hold(until: ContinuousClock.Instant)
        /// Nothing: it has taken the place of a report that was held.
        case replace
    }

    private var last: ContinuousClock.Instant?
    private var held: ProgressReport?

    /// Creates the limit for one URL.
    package init() {}

    /// Takes a new report, and returns what to do.
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

    /// Returns the report that is held, so that it can be passed on: when its time has come, or at the end of the work.
    package mutating func take(at now: ContinuousClock.Instant) -> ProgressReport? {
        guard let report = held else { return nil }
        held = nil
        last = now
        return report
    }
}
