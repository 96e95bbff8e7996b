import Synchronization
import Testing

@testable import Reactor

/// The time for which a loop polls for input before the loop sleeps.
@Suite(.timeLimit(.minutes(10))) struct BusyPollTests {
    private func window(after waits: [Duration], from first: BusyPoll = BusyPoll()) -> Duration {
        var poll = first
        for wait in waits { poll.waitEnded(after: wait) }
        return poll.window
    }

    private var widest: BusyPoll {
        var poll = BusyPoll()
        for _ in 0..<10 { poll.waitEnded(after: BusyPoll.longest) }
        return poll
    }

    @Test func loopWithoutEarlierWaitsSleepsAtOnce() {
        #expect(BusyPoll().window == .zero)
    }

    @Test func shortWaitsWidenTheWindowUntilTheyFit() {
        #expect(window(after: [.microseconds(40)]) == .microseconds(50))
        #expect(window(after: [.microseconds(40), .microseconds(40)]) == .microseconds(50))
        #expect(window(after: [.microseconds(90), .microseconds(90), .microseconds(90)]) == .microseconds(100))
        #expect(widest.window == BusyPoll.longest)
    }

    @Test func longWaitsNarrowTheWindowToZero() {
        #expect(window(after: [.milliseconds(1)]) == .zero)
        #expect(window(after: [.milliseconds(1)], from: widest) == BusyPoll.longest / 2)
        #expect(window(after: Array(repeating: .seconds(1), count: 4), from: widest) == .zero)
    }

    /// No sequence of waits takes the polling window outside its bounds. A loop with only slow input soon stops
    /// polling.
    @Test func windowStaysWithinItsBounds() {
        var random = SystemRandomNumberGenerator()
        var poll = BusyPoll()
        for _ in 0..<100_000 {
            poll.waitEnded(after: .microseconds(Int.random(in: 0...1000, using: &random)))
            #expect(poll.window == .zero || (BusyPoll.shortest...BusyPoll.longest).contains(poll.window))
        }
        #expect(window(after: Array(repeating: .milliseconds(1), count: 4), from: poll) == .zero)
    }
}

/// A loop that polls for input without sleeping still runs jobs and timers.
@Suite(.timeLimit(.minutes(10))) struct ExpectedInputTests {
    @Test func jobsAndTimersRunWhileTheLoopPolls() async throws {
        let loop = try EventLoop()
        for _ in 0..<1000 {
            // This call comes from another thread, while the loop may be polling or asleep.
            await loop.run { loop.expectInput() }
        }
        await withCheckedContinuation { continuation in
            loop.execute {
                loop.schedule(at: .now + .microseconds(10)) { continuation.resume() }
                loop.expectInput()
            }
        }
        loop.stop()
    }
}
