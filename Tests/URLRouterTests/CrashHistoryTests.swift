import Testing

@testable import URLRouter

/// The number of crashes after which the router pauses launches of a handler.
@Suite struct CrashHistoryTests {
    private let limits = RouterLimits()
    private let start = ContinuousClock.now

    private func history(_ seconds: Double...) -> CrashHistory {
        var history = CrashHistory()
        for second in seconds { history.add(start + .seconds(second), limits) }
        return history
    }

    @Test func twoCrashesCauseNoQuarantine() {
        #expect(history().quarantine(at: start) == nil)
        #expect(history(0, 1).quarantine(at: start + .seconds(1)) == nil)
    }

    @Test func threeCrashesWithinThePeriodCauseAQuarantine() {
        #expect(history(0, 5, 10).quarantine(at: start + .seconds(10)) == .seconds(30))
        #expect(history(0, 5, 10).quarantine(at: start + .seconds(39)) == .seconds(1))
        #expect(history(0, 5, 10).quarantine(at: start + .seconds(40)) == nil)
    }

    @Test func threeCrashesInALongerTimeCauseNoQuarantine() {
        #expect(history(0, 5, 10.001).quarantine(at: start + .seconds(10.001)) == nil)
        #expect(history(0, 9, 18, 27).quarantine(at: start + .seconds(27)) == nil)
    }

    @Test func quarantineResetsTheCount() {
        #expect(history(0, 1, 2, 33, 34).quarantine(at: start + .seconds(34)) == nil)
        #expect(history(0, 1, 2, 33, 34, 35).quarantine(at: start + .seconds(35)) == .seconds(30))
    }
}
