import Glibc
import OpenURLBus
import Testing

@testable import URLRouter

extension TimeZoneRules {
    /// A zone whose offset changes at certain times, in hours.
    static func changing(from first: Double, _ changes: [(at: Int64, to: Double)]) -> TimeZoneRules {
        TimeZoneRules { instant in Int64((changes.last { $0.at <= instant }?.to ?? first) * 3600) }
    }

    static let utc = changing(from: 0, [])
    static let tokyo = changing(from: 9, [])
    static let newYork = changing(from: -5, [(1_772_953_200, -4), (1_793_512_800, -5)])
    /// Central Europe in 2026: 29 March to 25 October, each at 01:00 UTC.
    static let berlin = changing(from: 1, [(1_774_746_000, 2), (1_792_890_000, 1)])
}

func wall(_ text: String) throws -> WallClockTime { try #require(WallClockTime(text), "\(text)") }

/// Returns a time with a `Z` in milliseconds since 1970.
func instant(_ text: String) throws -> Int64 {
    guard case .instant(let milliseconds)? = DeliveryTime(rawValue: text) else {
        Issue.record("\(text) is not a time")
        return 0
    }
    return milliseconds
}

/// When a clock on the wall shows a time.
@Suite(.timeLimit(.minutes(10))) struct TimeZoneRulesTests {
    @Test(arguments: [
        // The clock goes from 02:00 to 03:00.
        ("2026-03-29T01:59:59", "2026-03-29T00:59:59Z"), ("2026-03-29T02:00:00", "2026-03-29T01:00:00Z"),
        ("2026-03-29T02:30:00", "2026-03-29T01:00:00Z"), ("2026-03-29T02:59:59", "2026-03-29T01:00:00Z"),
        ("2026-03-29T03:00:00", "2026-03-29T01:00:00Z"), ("2026-03-29T03:00:01", "2026-03-29T01:00:01Z"),
        // The clock goes from 03:00 back to 02:00.
        ("2026-10-25T01:59:59", "2026-10-24T23:59:59Z"), ("2026-10-25T02:00:00", "2026-10-25T00:00:00Z"),
        ("2026-10-25T02:59:59", "2026-10-25T00:59:59Z"), ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z"),
        ("2026-07-01T12:00:00", "2026-07-01T10:00:00Z"), ("2026-12-01T12:00:00", "2026-12-01T11:00:00Z"),
    ])
    func gapAndOverlapHaveTheirRules(time: String, expected: String) throws {
        #expect(try TimeZoneRules.berlin.instant(of: wall(time)) * 1000 == instant(expected))
    }

    /// The slow way: the first moment at which the clock shows the time or a later one.
    private func slow(_ time: WallClockTime, _ zone: TimeZoneRules, step: Int64) -> Int64? {
        stride(from: time.seconds - 100_800, through: time.seconds + 100_800, by: Int64.Stride(step)).first {
            $0 + zone.offset($0) >= time.seconds
        }
    }

    /// Zones around a change on 1 June 2026 at 10:00 UTC: half an hour in either direction, a whole day left out and a whole
    /// day twice, and the largest offsets.
    @Test(
        arguments: [
            (10.5, 11), (11, 10.5), (-10, 14), (14, -10), (-12, -11), (-11, -12), (13, 14), (5.5, 5.75), (0, 0),
            (-4, -3),
        ] as [(Double, Double)]
    )
    func everyTimeIsThatOfTheSlowWay(first: Double, second: Double) throws {
        let change = try instant("2026-06-01T10:00:00Z") / 1000
        let zone = TimeZoneRules.changing(from: first, [(change, second)])
        for minutes in stride(from: -3000 as Int64, through: 3000, by: 15) {
            let time = try #require(WallClockTime(seconds: change + minutes * 60))
            #expect(zone.instant(of: time) == slow(time, zone, step: 900), "\(time)")
        }
    }

    @Test func clockOnTheWallIsAheadByTheOffset() throws {
        let time = try TimeZoneRules.berlin.wallClock(at: instant("2026-07-01T10:00:00Z") / 1000)
        #expect(try time == wall("2026-07-01T12:00:00"))
        #expect(TimeZoneRules.newYork.wallClock(at: 0) == nil)
    }

    // The time zone belongs to the whole process, so this test runs in a child process. It spells the zone out, and needs
    // no time zone database.
    @Test func sessionHasTheZoneOfTheCLibrary() async {
        await #expect(processExitsWith: .success) {
            setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1)
            for (time, expected) in [
                ("2026-03-29T02:30:00", "2026-03-29T01:00:00Z"), ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
                ("2026-07-01T12:00:00", "2026-07-01T10:00:00Z"), ("2090-07-01T12:00:00", "2090-07-01T10:00:00Z"),
            ] {
                try #expect(TimeZoneRules.session.instant(of: wall(time)) * 1000 == instant(expected))
            }
            setenv("TZ", "JST-9", 1)
            #expect(TimeZoneRules.session.offset(0) == 32_400)
        }
    }
}
