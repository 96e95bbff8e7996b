import Reactor
import Synchronization
import Testing

@testable import URLRouter

/// The timers of sessions.
@Suite(.timeLimit(.minutes(10))) struct RestartableTimerTests {
    @Test func sleepOfTheMachineDoesNotCount() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        // The machine is awake for ten milliseconds between two looks at this clock, and sleeps for the rest.
        let looks = Mutex(0)
        let start = SuspendingClock.now
        await withCheckedContinuation { continuation in
            loop.execute {
                let timer = RestartableTimer(on: loop) {
                    looks.withLock { looks in
                        looks += 1
                        return start + .milliseconds(10 * looks)
                    }
                }
                timer.start(in: .milliseconds(25)) { continuation.resume() }
            }
        }
        #expect(looks.withLock { $0 } > 2)
    }
}
