import DBus
import Testing

@testable import OpenURLBus

/// The times of queued URLs, and the calendar behind them.
@Suite struct DeliveryTimeTests {
    // MARK: Text

    @Test(
        arguments: [
            ("1970-01-01T00:00:00", 0), ("1970-01-02T00:00:01", 86_401), ("2000-02-29T12:00:00", 951_825_600),
            ("2026-12-01T09:30:15", 1_796_117_415), ("9999-12-31T23:59:59", 253_402_300_799),
        ] as [(String, Int64)]
    )
    func wallClockTimeIsItsText(text: String, seconds: Int64) throws {
        let time = try #require(WallClockTime(text))
        #expect(time.seconds == seconds)
        #expect(time.description == text)
        #expect(DeliveryTime(rawValue: text) == .wallClock(time))
        #expect(DeliveryTime.wallClock(time).rawValue == text)
    }

    @Test func secondsMayBeLeftOut() {
        #expect(WallClockTime("2026-12-01T09:30") == WallClockTime("2026-12-01T09:30:00"))
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.001Z", 1),
            ("2026-12-01T09:30:15.250Z", 1_796_117_415_250),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] as [(String, Int64)]
    )
    func instantIsItsText(text: String, milliseconds: Int64) {
        #expect(DeliveryTime(rawValue: text) == .instant(milliseconds: milliseconds))
        #expect(DeliveryTime.instant(milliseconds: milliseconds).rawValue == text)
    }

    @Test(arguments: [
        "", "Z", "T", "2026-12-01", "09:30", "2026-12-01 09:30", "2026-12-01T9:30", "2026-12-01T09:30:1",
        "2026-12-01T09:30:00:00", "2026-12-01T24:00", "2026-12-01T09:60", "2026-12-01T09:30:60", "2026-13-01T09:30",
        "2026-00-01T09:30", "2026-02-29T09:30", "2026-11-31T09:30", "2026-12-00T09:30", "1969-12-31T23:59",
        "10000-01-01T00:00", "+2026-12-01T09:30", "２０２６-12-01T09:30", "2026-12-01T-9:30", "2026-12-01T09:30+01:00",
        "2026-12-01T09:30:00.5Z", "2026-12-01T09:30:00.0000Z", "2026-12-01T09:30:00.+12Z", "2026-12-01T09:30:00..12Z",
        "2026-12-01T09:30:00.123", "2026-12-01T09:30:00z", "2026-12-01T09:30:00ZZ",
    ])
    func otherTextIsRefused(text: String) throws {
        #expect(DeliveryTime(rawValue: text) == nil)
        #expect(
            try problem(["at": .string(text)], as: OpenOptions.self)
                == "'\(text)' is not a time such as 2026-12-01T09:00:00 or 2026-12-01T08:00:00Z"
        )
    }

    @Test func timeFromNowIsAPointInTime() throws {
        guard case .instant(let now) = DeliveryTime.after(.zero),
            case .instant(let later) = DeliveryTime.after(.seconds(3600))
        else {
            Issue.record("a time from now depends on the time zone")
            return
        }
        #expect((3_600_000..<3_660_000).contains(later - now))
        #expect(DeliveryTime.after(.seconds(Int64.max)).rawValue == "9999-12-31T23:59:59.999Z")
        #expect(DeliveryTime.after(.seconds(-100_000_000_000)).rawValue == "1970-01-01T00:00:00Z")
    }

    // MARK: The calendar

    @Test func everyDayOfFourCenturiesHasItsDate() throws {
        var (year, month, day) = (1970, 1, 1)
        for number in 0..<146_097 {
            let time = try #require(WallClockTime(year: year, month: month, day: day, hour: 0, minute: 0))
            #expect(time.seconds == Int64(number) * 86_400)
            let next = try #require(WallClockTime(seconds: time.seconds + 86_400))
            // The date is followed by the next day of the month or by the first day of the next month.
            let isLast = WallClockTime(year: year, month: month, day: day + 1, hour: 0, minute: 0) == nil
            (year, month, day) = isLast ? (year + month / 12, month % 12 + 1, 1) : (year, month, day + 1)
            guard next.description.hasPrefix("\(year)-\(padded(Int64(month)))-\(padded(Int64(day)))T") else {
                Issue.record("\(next) follows \(time)")
                return
            }
        }
    }

    @Test(
        arguments: [
            ("2026-01-31T09:00:00", 1, .month, "2026-02-28T09:00:00"),
            ("2026-01-31T09:00:00", 2, .month, "2026-03-31T09:00:00"),
            ("2027-12-31T23:59:59", 2, .month, "2028-02-29T23:59:59"),
            ("2028-02-29T09:00:00", 1, .year, "2029-02-28T09:00:00"),
            ("2028-02-29T09:00:00", 4, .year, "2032-02-29T09:00:00"),
            ("2026-12-31T09:00:00", 1, .day, "2027-01-01T09:00:00"),
            ("2026-12-31T09:00:00", 1, .week, "2027-01-07T09:00:00"),
            ("2026-12-31T23:30:00", 1, .hour, "2027-01-01T00:30:00"),
            ("2026-12-31T23:59:30", 1, .minute, "2027-01-01T00:00:30"),
            ("2026-12-31T09:00:00", 0, .month, "2026-12-31T09:00:00"),
        ] as [(String, Int64, RepeatInterval, String)]
    )
    func stepsAreThoseOfTheCalendar(start: String, count: Int64, interval: RepeatInterval, end: String) {
        #expect(WallClockTime(start)?.adding(count, interval)?.description == end)
    }

    @Test(arguments: RepeatInterval.allCases) func yearTenThousandIsOutOfRange(interval: RepeatInterval) {
        let last = WallClockTime("9999-12-31T23:59:59")
        #expect(last?.adding(0, interval) == last)
        for count in [1, 1000, Int64.max / 12, .max] { #expect(last?.adding(count, interval) == nil) }
    }

    /// The count is that of the last step that is not later than the other time.
    @Test(arguments: RepeatInterval.allCases) func countIsTheNumberOfWholeSteps(interval: RepeatInterval) throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let start = try #require(WallClockTime(seconds: .random(in: 0..<4_000_000_000, using: &generator)))
            let distance = Int64.random(in: 0..<(1 << Int64.random(in: 1..<32, using: &generator)), using: &generator)
            let other = try #require(WallClockTime(seconds: start.seconds + distance))
            let count = start.count(of: interval, until: other)
            let reached = try #require(start.adding(count, interval))
            let next = try #require(start.adding(count + 1, interval))
            #expect(reached.seconds <= other.seconds && other.seconds < next.seconds, "\(start) \(other) \(count)")
            if distance > 0 { #expect(other.count(of: interval, until: start) < 0) }
        }
    }

    // MARK: Options

    @Test func timeAndStepAreOptions() throws {
        var options = OpenOptions()
        options.deliveryTime = .wallClock(try #require(WallClockTime("2026-12-01T09:00:00")))
        options.repeatInterval = .week
        #expect(options.isQueued)
        #expect(try recoded(options) == options)
        #expect(
            try recoded(options, as: [String: Value].self)
                == ["delivery": "queued", "at": "2026-12-01T09:00:00", "every": "week"]
        )
        // A caller need not ask for the queue, in whatever order the keys arrive.
        for entries: [String: Value] in [
            ["at": "2026-12-01T09:00:00Z"], ["at": "2026-12-01T09:00:00Z", "delivery": "now"],
        ] {
            #expect(try recoded(entries, as: OpenOptions.self).isQueued)
        }
    }

    @Test func onlyATimeOnTheClockIsRepeated() throws {
        let problem = "'every' 'day' needs a time without a time zone in 'at'"
        #expect(try OpenURLBusTests.problem(["every": "day"], as: OpenOptions.self) == problem)
        let instant: [String: Value] = ["every": "day", "at": "2026-12-01T09:00:00Z"]
        #expect(try OpenURLBusTests.problem(instant, as: OpenOptions.self) == problem)
        #expect(
            try OpenURLBusTests.problem(["every": "days", "at": "2026-12-01T09:00:00"], as: OpenOptions.self)
                == "'days' is not an interval; it must be one of minute, hour, day, week, month, year"
        )
    }
}
