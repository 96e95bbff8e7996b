import OpenURLBus
import Testing

@testable import URLRouter

/// When deliveries with a time are due, with a clock and zones of the test.
@Suite struct DeliveryScheduleTests {
    private func schedule(_ time: String, every: RepeatInterval? = nil, turn: Int64 = 0) throws -> DeliverySchedule {
        let time = try #require(DeliveryTime(rawValue: time))
        return DeliverySchedule(time, every: every, turn: turn)
    }

    private func text(_ due: Int64?) -> String? { due.map { DeliveryTime.instant(milliseconds: $0).rawValue } }

    /// Takes turns, each at its time, and returns the times.
    private func turns(_ count: Int, _ schedule: DeliverySchedule, in zone: TimeZoneRules) throws -> [String] {
        var schedule = schedule
        var due = try #require(schedule.due(in: zone))
        var times: [String] = []
        for _ in 0..<count {
            times.append(DeliveryTime.instant(milliseconds: due).rawValue)
            let next = schedule.advance(past: due, in: zone)
            due = try #require(next)
        }
        return times
    }

    @Test func pointInTimeDoesNotDependOnTheZone() throws {
        let schedule = try self.schedule("2026-12-01T09:00:00.250Z")
        for zone: TimeZoneRules in [.utc, .tokyo, .newYork] {
            #expect(text(schedule.due(in: zone)) == "2026-12-01T09:00:00.250Z")
        }
    }

    @Test func timeOnTheClockFollowsTheZone() throws {
        let schedule = try self.schedule("2026-12-01T09:00:00")
        #expect(text(schedule.due(in: .berlin)) == "2026-12-01T08:00:00Z")
        #expect(text(schedule.due(in: .tokyo)) == "2026-12-01T00:00:00Z")
        #expect(text(schedule.due(in: .newYork)) == "2026-12-01T14:00:00Z")
    }

    // MARK: Repeats

    @Test func dailyTimeStaysWhenSummerBeginsAndEnds() throws {
        #expect(
            try turns(3, schedule("2026-03-28T09:00:00", every: .day), in: .berlin)
                == ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"]
        )
        #expect(
            try turns(3, schedule("2026-10-24T09:00:00", every: .day), in: .berlin)
                == ["2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z", "2026-10-26T08:00:00Z"]
        )
        // A skipped time comes once, just after the gap, and is back the next day.
        #expect(
            try turns(3, schedule("2026-03-28T02:30:00", every: .day), in: .berlin)
                == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        )
        // A time that the clock shows twice comes once.
        #expect(
            try turns(3, schedule("2026-10-24T02:30:00", every: .day), in: .berlin)
                == ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        )
    }

    @Test func hourIsTakenOnceAroundTheGapAndTheOverlap() throws {
        #expect(
            try turns(4, schedule("2026-03-29T01:00:00", every: .hour), in: .berlin)
                == ["2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z", "2026-03-29T03:00:00Z"]
        )
        // The clock shows two o'clock twice, and only the first one counts.
        #expect(
            try turns(3, schedule("2026-10-25T02:00:00", every: .hour), in: .berlin)
                == ["2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T03:00:00Z"]
        )
        #expect(
            try turns(2, schedule("2026-03-29T01:59:00", every: .minute), in: .berlin)
                == ["2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z"]
        )
    }

    @Test func monthlyTimeOnThe31stFallsOnTheLastDay() throws {
        #expect(
            try turns(3, schedule("2026-01-31T09:00:00", every: .month), in: .utc)
                == ["2026-01-31T09:00:00Z", "2026-02-28T09:00:00Z", "2026-03-31T09:00:00Z"]
        )
    }

    @Test func missedTurnsAreMadeUpForOnce() throws {
        var schedule = try self.schedule("2026-06-01T09:00:00", every: .day, turn: 2)
        let now = try instant("2026-06-20T12:00:00Z")
        // The missed turn stays due, and the next one is in the future.
        let due = schedule.review(at: now, since: 0, in: .utc)
        #expect(text(due) == "2026-06-03T09:00:00Z")
        #expect(schedule.turn == 2)
        let next = schedule.advance(past: now, in: .utc)
        #expect(text(next) == "2026-06-21T09:00:00Z")
        #expect(schedule.turn == 20)
    }

    @Test func turnThatIsTakenEarlyLeavesTheNextOne() throws {
        var schedule = try self.schedule("2026-06-01T09:00:00", every: .day, turn: 2)
        let early = try instant("2026-06-02T15:00:00Z")
        let next = schedule.advance(past: early, in: .utc)
        #expect(text(next) == "2026-06-03T09:00:00Z")
        #expect(schedule.turn == 2)
    }

    @Test func repeatsEndWithTheCalendar() throws {
        var schedule = try self.schedule("9999-12-31T09:00:00", every: .day)
        #expect(text(schedule.due(in: .utc)) == "9999-12-31T09:00:00Z")
        let afterTheLast = schedule.advance(past: try instant("9999-12-31T09:00:00Z"), in: .utc)
        #expect(afterTheLast == nil)
        var single = try self.schedule("2026-06-01T09:00:00")
        let another = single.advance(past: 0, in: .utc)
        #expect(another == nil)
        // A damaged file may contain any number.
        #expect(try self.schedule("2026-06-01T09:00:00", every: .year, turn: .max).due(in: .utc) == nil)
        #expect(
            try text(self.schedule("2026-06-01T09:00:00", every: .day, turn: -5).due(in: .utc))
                == "2026-06-01T09:00:00Z"
        )
    }

    // MARK: Changes of the zone and of the clock

    @Test func changeOfTheZoneMovesTheNextTurn() throws {
        // The turn of 3 June was taken in Berlin. The next one is on 4 June, wherever the session is.
        let now = try instant("2026-06-03T09:00:00Z")
        for (zone, due) in [
            (TimeZoneRules.berlin, "2026-06-04T07:00:00Z"), (.newYork, "2026-06-04T13:00:00Z"),
            (.tokyo, "2026-06-04T00:00:00Z"),
        ] {
            var schedule = try self.schedule("2026-06-01T09:00:00", every: .day, turn: 3)
            let reviewed = schedule.review(at: now, since: 0, in: zone)
            #expect(text(reviewed) == due)
            #expect(schedule.turn == 3)
        }
    }

    @Test func hourlyTurnGoesOnInAZoneToTheWest() throws {
        // In Berlin, the turn of 11:00 is taken and 12:00 comes next. In New York it is only 05:00.
        var schedule = try self.schedule("2026-06-01T00:00:00", every: .hour, turn: 12)
        let now = try instant("2026-06-01T09:10:00Z")
        let due = schedule.review(at: now, since: 0, in: .newYork)
        #expect(text(due) == "2026-06-01T10:00:00Z")
        #expect(schedule.turn == 6)
    }

    @Test func singleTimeThatAZoneToTheEastHasPassedIsDue() throws {
        var schedule = try self.schedule("2026-06-01T12:00:00")
        let now = try instant("2026-06-01T08:00:00Z")
        let inBerlin = schedule.review(at: now, since: 0, in: .berlin)
        #expect(text(inBerlin) == "2026-06-01T10:00:00Z")
        let inTokyo = schedule.review(at: now, since: 0, in: .tokyo)
        #expect(text(inTokyo) == "2026-06-01T03:00:00Z")
    }

    @Test func smallJumpBackTakesNoTurnAgain() throws {
        var schedule = try self.schedule("2026-06-01T09:00:00", every: .day)
        let due = try #require(schedule.due(in: .utc))
        let next = schedule.advance(past: due + 500, in: .utc)
        #expect(text(next) == "2026-06-02T09:00:00Z")
        // The clock is set back to two seconds before the time.
        let reviewed = schedule.review(at: due - 2000, since: 0, in: .utc)
        #expect(text(reviewed) == "2026-06-02T09:00:00Z")
    }

    @Test func clockThatWasYearsAheadSilencesNothing() throws {
        var schedule = try self.schedule("2026-06-01T09:00:00", every: .day)
        _ = try schedule.advance(past: instant("2036-06-01T12:00:00Z"), in: .utc)
        let now = try instant("2026-07-01T12:00:00Z")
        let due = schedule.review(at: now, since: 0, in: .utc)
        #expect(text(due) == "2026-07-02T09:00:00Z")
    }

    @Test func clockThatIsBehindChangesNothing() throws {
        let accepted = try instant("2026-05-31T12:00:00Z")
        var schedule = try self.schedule("2026-06-01T09:00:00", every: .day, turn: 30)
        // A machine without a battery for its clock boots in 1970.
        let due = schedule.review(at: 5000, since: accepted, in: .utc)
        #expect(text(due) == "2026-07-01T09:00:00Z")
        #expect(schedule.turn == 30)
    }
}

/// The deliveries that wait for their times.
@Suite struct TimedDeliveriesTests {
    private func delivery(_ id: Int64, _ due: Int64) -> DeliveryStore.Waiting {
        DeliveryStore.Waiting(id: id, handler: "com.example.app", sender: "a", due: due, isTimed: true)
    }

    @Test func dueDeliveriesComeInTheOrderOfTheirTimes() {
        var deliveries = TimedDeliveries()
        let none = deliveries.earliest()
        #expect(none == nil)
        for (id, due) in [(1, 30), (2, 10), (3, 20), (4, 20), (5, 40)] as [(Int64, Int64)] {
            deliveries.add(delivery(id, due))
        }
        let earliest = deliveries.earliest()
        #expect(earliest == 10)
        var taken: [[Int64]] = []
        taken.append(deliveries.removeDue(at: 9).map(\.id))
        deliveries.remove(3)
        deliveries.remove(7)
        deliveries.add(delivery(2, 35))
        for time in [30, 100, 100] as [Int64] { taken.append(deliveries.removeDue(at: time).map(\.id)) }
        #expect(taken == [[], [4, 1], [2, 5], []])
    }

    /// Each wake-up takes logarithmic time. If it looked at every delivery, this would take minutes.
    @Test(.timeLimit(.minutes(2))) func tenThousandWakeUpsAreQuick() {
        var deliveries = TimedDeliveries()
        let count: Int64 = 10_000
        for id in 0..<count { deliveries.add(delivery(id, id * 7919 % count)) }
        // Moving deliveries and removing them leaves nothing behind that slows down the others.
        for round in 1...10 as ClosedRange<Int64> {
            for id in 0..<count { deliveries.add(delivery(id, (id + round % 2) * 7919 % count)) }
        }
        for id in 0..<count where id % 2 == 0 {
            deliveries.remove(id)
            deliveries.add(delivery(id, id * 7919 % count))
        }
        for id in 0..<count where id % 10 == 0 { deliveries.remove(id) }
        var times: [Int64] = []
        while let earliest = deliveries.earliest() { times += deliveries.removeDue(at: earliest).map(\.due) }
        #expect(times == times.sorted())
        #expect(times.count == 9000)
    }
}
