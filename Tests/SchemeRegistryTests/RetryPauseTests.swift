import Testing

@testable import SchemeRegistry

/// The time until something is tried again.
@Suite struct RetryPauseTests {
    @Test func pauseDoublesUpToItsLimit() {
        var pause = RetryPause(first: .seconds(1), longest: .seconds(60))
        let seconds = (0..<9).map { _ in pause.next().components.seconds }
        #expect(seconds == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    }

    @Test func pauseBeginsAgainAfterASuccess() {
        var pause = RetryPause(first: .seconds(1), longest: .seconds(60))
        for _ in 0..<3 { _ = pause.next() }
        pause.reset()
        #expect([pause.next(), pause.next()] == [.seconds(1), .seconds(2)])
    }
}
