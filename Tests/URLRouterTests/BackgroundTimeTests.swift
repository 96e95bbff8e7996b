import Testing

@testable import URLRouter

/// The time of background tasks as a value.
@Suite struct BackgroundTimeTests {
    private let start = SuspendingClock.now

    private func left(_ time: BackgroundTime, after seconds: Int) -> Duration {
        time.left(of: .seconds(180), at: start + .seconds(seconds))
    }

    @Test func timeRunsOnlyWhileItIsCounted() {
        var time = BackgroundTime()
        #expect(left(time, after: 1000) == .seconds(180))
        time.setRunning(true, at: start + .seconds(1000))
        #expect(left(time, after: 1010) == .seconds(170))
        time.setRunning(false, at: start + .seconds(1030))
        #expect(!time.isRunning)
        #expect(left(time, after: 5000) == .seconds(150))
    }

    @Test func timesOfSeveralTasksAreAddedUp() {
        var time = BackgroundTime()
        for second in [0, 100, 200] {
            time.setRunning(true, at: start + .seconds(second))
            time.setRunning(false, at: start + .seconds(second + 50))
        }
        #expect(left(time, after: 1000) == .seconds(30))
    }

    @Test func timeThatIsOverIsZero() {
        var time = BackgroundTime()
        time.setRunning(true, at: start)
        #expect(left(time, after: 200) == .zero)
    }
}
