internal import OpenURLBus

/// When a delivery with a time is due. All times are in milliseconds since 1970.
///
/// A repeated delivery takes its turns by the wall clock: a turn comes a number of days after the first time, for example.
/// Only then is the turn's time looked up in the time zone. So a delivery at nine o'clock stays at nine o'clock, whatever the
/// zone does.
struct DeliverySchedule: Sendable, Hashable {
    let time: DeliveryTime
    let every: RepeatInterval?
    /// The number of the turn that comes next, from 0.
    private(set) var turn: Int64 = 0

    init(_ time: DeliveryTime, every: RepeatInterval?, turn: Int64 = 0) {
        self.time = time
        self.every = every
        self.turn = max(turn, 0)
    }

    /// Returns when the turn is due; nil if that is after the year 9999.
    func due(in zone: TimeZoneRules) -> Int64? {
        switch (time, every) {
        case (.instant(let milliseconds), _): milliseconds
        case (.wallClock(let start), nil): zone.instant(of: start) * 1000
        case (.wallClock(let start), let every?): start.adding(turn, every).map { zone.instant(of: $0) * 1000 }
        }
    }

    /// Advances to the first turn that is still to come, because the URL has been delivered.
    ///
    /// - Returns: When it is due; nil if there is none.
    mutating func advance(past now: Int64, in zone: TimeZoneRules) -> Int64? {
        guard let every, case .wallClock(let start) = time, let clock = zone.wallClock(at: now / 1000) else {
            return nil
        }
        // This turn has passed, or is the next one. If the clock skips times, or shows them twice, others may have passed.
        turn = max(turn, start.count(of: every, until: clock))
        while let due = due(in: zone) {
            if due > now { return due }
            turn += 1
        }
        return nil
    }

    /// Looks again when the turn is due, because the time zone or the clock may have changed, or the router may just
    /// have started. A time that has passed stays due.
    ///
    /// If the clock was ahead by mistake, turns may have been taken that are now still to come. Then the turn goes back,
    /// so that the delivery does not stay away for years. But a turn that has just been taken is not taken again, because
    /// clocks are often set back by a little.
    ///
    /// - Parameter accepted: When the URL was accepted. Before that, the clock is wrong, and the turn stays as it is.
    /// - Returns: When the turn is due; nil if that is after the year 9999.
    mutating func review(at now: Int64, since accepted: Int64, in zone: TimeZoneRules) -> Int64? {
        var first = DeliverySchedule(time, every: every)
        if now >= accepted, first.advance(past: now, in: zone) != nil, turn - first.turn > 1 { turn = first.turn }
        return due(in: zone)
    }
}
