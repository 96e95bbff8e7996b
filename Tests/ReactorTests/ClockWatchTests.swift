import Reactor
import Testing

/// The watch over the wall clock. No test sets the clock, because that of a machine belongs to all its programs.
@Suite struct ClockWatchTests {
    @Test func clockThatRunsAsUsualReportsNothing() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let (jumps, continuation) = AsyncStream<Void>.makeStream()
        try await loop.run {
            let watch = try ClockWatch(on: loop) { continuation.yield() }
            // The kernel has taken the timer, and it has not expired at once.
            loop.executeAfterJobs {
                watch.cancel()
                watch.cancel()
                continuation.finish()
            }
        }
        #expect(await jumps.first { true } == nil)
    }
}
