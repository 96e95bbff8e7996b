import ArgumentParser
import OpenURLBus
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// The times for which the command stores URLs.
@Suite struct FutureTimeTests {
    /// 2026-06-15T10:20:30.500 at a clock that is two hours ahead of UTC.
    private let now: UInt64 = 1_781_511_630_500
    private let wallClock: (Int64) -> WallClockTime? = { WallClockTime(seconds: $0 + 7200) }

    private func meaning(_ argument: String, isRepeated: Bool = false) throws -> String? {
        try FutureTime(argument).deliveryTime(at: now, isRepeated: isRepeated, wallClock: wallClock)?.rawValue
    }

    @Test(arguments: [
        // The next time that the clock shows this.
        ("10:21", "2026-06-15T10:21:00"), ("10:20", "2026-06-16T10:20:00"), ("9:30", "2026-06-16T09:30:00"),
        ("09:30", "2026-06-16T09:30:00"), ("10:20:31", "2026-06-15T10:20:31"), ("10:20:30", "2026-06-16T10:20:30"),
        ("23:59:59", "2026-06-15T23:59:59"), ("0:00", "2026-06-16T00:00:00"),
        ("tomorrow 9:30", "2026-06-16T09:30:00"), ("tomorrow 23:00", "2026-06-16T23:00:00"),
        ("2026-12-01T09:30", "2026-12-01T09:30:00"), ("2026-12-01 09:30:15", "2026-12-01T09:30:15"),
        ("2026-12-01T09:30Z", "2026-12-01T09:30:00Z"), ("2026-12-01T09:30:15+01:00", "2026-12-01T08:30:15Z"),
        ("2026-12-01T09:30-03:30", "2026-12-01T13:00:00Z"), ("2026-12-01 09:30+00:00", "2026-12-01T09:30:00Z"),
        ("+2h", "2026-06-15T10:20:30.500Z"), ("+0s", "2026-06-15T08:20:30.500Z"), ("+90m", "2026-06-15T09:50:30.500Z"),
        ("+1d", "2026-06-16T08:20:30.500Z"), ("in 2 hours", "2026-06-15T10:20:30.500Z"),
        ("in 1 minute", "2026-06-15T08:21:30.500Z"), ("in 30 seconds", "2026-06-15T08:21:00.500Z"),
        ("in 1 day", "2026-06-16T08:20:30.500Z"), ("in 45 m", "2026-06-15T09:05:30.500Z"),
        // The router knows what has passed.
        ("2020-01-01T09:30", "2020-01-01T09:30:00"),
    ])
    func argumentIsATime(argument: String, time: String) throws {
        #expect(try meaning(argument) == time)
    }

    @Test(arguments: [
        "", " ", "+", "+h", "+2", "+2w", "+-2h", "+2 h", "2h", "in 2", "in hours", "in two hours", "in -2 hours",
        "in 2 weeks", "in  2 hours", "+99999999999999999999h", "+9999999999999h", "tomorrow", "tomorrow 25:00",
        "tomorrow  9:30", "Tomorrow 9:30", "9", "9:3", "930", "24:00", "9:60", "009:30", "٩:30", "noon", "2026-12-01",
        "2026-02-30T09:30", "2026-12-01T09:30+1:00", "2026-12-01T09:30+0100", "2026-12-01T09:30+25:00",
        "1960-01-01T00:00",
        "1970-01-01T00:00+01:00", "2026-12-01T09:30 Z", "2026-12-01T09:30:00.5Z", "2026-12-01  09:30",
    ])
    func otherArgumentIsRefused(argument: String) throws {
        let form = "write a time such as 9:30, 'tomorrow 9:30', +2h, 'in 2 hours' or 2026-12-01T09:30"
        #expect(throws: ValidationError.self) { try FutureTime(argument) }
        let run = try openurl("--at=\(argument)", "a:b")
        #expect(run.status == 64)
        #expect(run.errors.contains(form), "\(run.errors)")
    }

    @Test func repeatedTimeIsOneOnTheClock() throws {
        #expect(try meaning("+2h", isRepeated: true) == "2026-06-15T12:20:30")
        #expect(try meaning("9:30", isRepeated: true) == "2026-06-16T09:30:00")
        #expect(try FutureTime("+2h").isRepeatable)
        #expect(try FutureTime("2026-12-01T09:30").isRepeatable)
        for text in ["2026-12-01T09:30Z", "2026-12-01T09:30+01:00"] { #expect(try !FutureTime(text).isRepeatable) }
    }

    @Test func timeAfterTheCalendarIsNone() throws {
        #expect(try meaning("+2900000d") == "9966-05-21T08:20:30.500Z")
        #expect(try meaning("+2930000d") == nil)
        #expect(try meaning("+2930000d", isRepeated: true) == nil)
        let run = try openurl("--at=+2930000d", "a:b")
        #expect(run.status == 64)
        #expect(run.errors == "openurl: the time in --at is after the year 9999\n")
    }

    @Test(arguments: [
        (["--every", "day", "a:b"], "--every needs a first time; add --at"),
        (["--at", "2026-12-01T09:30Z", "--every", "day", "a:b"], "--every needs a time without a time zone in --at"),
        (["--at", "+1h", "--every", "days", "a:b"], "write an interval: minute, hour, day, week, month, year"),
        (["--notify", String(repeating: "ü", count: 513), "a:b"], "a notification can have at most 1024 bytes"),
        (
            ["--at", "+1h", "--save", "a=b", "a:b"],
            "a queued URL has no open files and no reply; remove --attach and --save"
        ),
    ])
    func wrongCombinationIsRefused(arguments: [String], message: String) throws {
        let run = try openurl(arguments.map { .text($0) })
        #expect(run.status == 64)
        #expect(run.errors.contains(message), "\(run.errors)")
    }
}
