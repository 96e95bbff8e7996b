import Synchronization
import Testing

@testable import Reactor

/// How long a loop looks for input before it sleeps.
@Suite struct BusyPollTests {
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

    @Test func aLoopThatNeverWaitedSleepsAtOnce() {
        #expect(BusyPoll().window == .zero)
    }

    @Test func shortWaitsWidenTheWindowUntilTheyFit() {
        #expect(window(after: [.microseconds(40)]) == .microseconds(50))
        #expect(window(after: [.microseconds(40), .microseconds(40)]) == .microseconds(50))
        #expect(window(after: [.microseconds(90), .microseconds(90), .microseconds(90)]) == .microseconds(100))
        #expect(widest.window == BusyPoll.longest)
    }

    @Test func longWaitsNarrowItToNothing() {
        #expect(window(after: [.milliseconds(1)]) == .zero)
        #expect(window(after: [.milliseconds(1)], from: widest) == BusyPoll.longest / 2)
        #expect(window(after: Array(repeating: .seconds(1), count: 4), from: widest) == .zero)
    }

    /// Whatever is waited for: nobody looks longer than the longest window, and what is always slow is soon slept for.
    @Test func noSequenceOfWaitsLeavesTheBounds() {
        var random = SystemRandomNumberGenerator()
        var poll = BusyPoll()
        for _ in 0..<100_000 {
            poll.waitEnded(after: .microseconds(Int.random(in: 0...1000, using: &random)))
            #expect(poll.window == .zero || (BusyPoll.shortest...BusyPoll.longest).contains(poll.window))
        }
        #expect(window(after: Array(repeating: .milliseconds(1), count: 4), from: poll) == .zero)
    }
}

/// A loop that looks for input without sleeping still does everything else.
@Suite(.timeLimit(.minutes(10))) struct ExpectedInputTests {
    @Test func jobsAndDeadlinesHaveTheirTurn() async throws {
        let loop = try EventLoop()
        for _ in 0..<1000 {
            // From a thread that is not the loop's, which may be looking or asleep by then.
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
