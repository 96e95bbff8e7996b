import OpenURLBus
import Testing

/// The bounds of a report, and the pace at which reports are passed on.
@Suite struct ProgressReportTests {
    @Test(arguments: [
        (0.5, 0.5), (-1, 0), (2, 1), (.infinity, 1), (-.infinity, 0), (-0.0, 0),
    ])
    func fractionIsBetween0And1(fraction: Double, expected: Double) {
        #expect(ProgressReport(fraction)?.fraction == expected)
    }

    @Test(arguments: [Double.nan, .signalingNaN]) func otherThanANumberIsNoReport(fraction: Double) {
        #expect(ProgressReport(fraction, "x") == nil)
    }

    @Test func messageIsCutAtAWholeCharacter() {
        #expect(ProgressReport(0, String(repeating: "x", count: 256))?.message.utf8.count == 256)
        #expect(ProgressReport(0, String(repeating: "x", count: 257))?.message.utf8.count == 256)
        let text = "x" + String(repeating: "é", count: 200)
        #expect(ProgressReport(0, text)?.message == "x" + String(repeating: "é", count: 127))
    }

    // MARK: Pace

    private let start = ContinuousClock.now
    private func report(_ number: Int) throws -> ProgressReport {
        try #require(ProgressReport(0.5, "\(number)"))
    }

    @Test func firstReportIsPassedAndTheNextIsHeld() throws {
        var pace = ReportPace()
        #expect(pace.add(try report(1), at: start) == .pass)
        let next = start + .milliseconds(100)
        #expect(pace.add(try report(2), at: start + .milliseconds(1)) == .hold(until: next))
        #expect(pace.add(try report(3), at: start + .milliseconds(99)) == .replace)
        #expect(pace.take(at: next) == (try report(3)))
        #expect(pace.take(at: next) == nil)
        #expect(pace.add(try report(4), at: next + .milliseconds(1)) == .hold(until: next + .milliseconds(100)))
    }

    @Test func reportAfterAPauseIsPassed() throws {
        var pace = ReportPace()
        #expect(pace.add(try report(1), at: start) == .pass)
        #expect(pace.add(try report(2), at: start + .milliseconds(100)) == .pass)
    }

    /// A hundred thousand reports in ten seconds.
    @Test func atMostTenASecondAndTheLastOneAlways() throws {
        var pace = ReportPace()
        var passed: [(time: Duration, message: String)] = []
        var due: ContinuousClock.Instant?
        for number in 0..<100_000 {
            let now = start + .microseconds(number * 100)
            if let time = due, time <= now, let held = pace.take(at: time) {
                passed.append((start.duration(to: time), held.message))
                due = nil
            }
            switch pace.add(try report(number), at: now) {
            case .pass: passed.append((start.duration(to: now), "\(number)"))
            case .hold(let time): due = time
            case .replace: break
            }
        }
        if let last = pace.take(at: start + .seconds(10)) { passed.append((.seconds(10), last.message)) }
        #expect(passed.last?.message == "99999")
        for (earlier, later) in zip(passed, passed.dropFirst().dropLast()) {
            #expect(later.time - earlier.time >= .milliseconds(100))
        }
        #expect((99...101).contains(passed.count))
    }
}
