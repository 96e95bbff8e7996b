import Reactor
import Testing

@testable import URLRouter

/// The return of memory after a burst of requests.
@Suite(.timeLimit(.minutes(1))) struct FreedMemoryTests {
    @Test func memoryIsGivenBackWhenABurstIsOver() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        await withCheckedContinuation { continuation in
            loop.execute {
                let memory = FreedMemory(on: loop, after: .milliseconds(1)) { continuation.resume() }
                for _ in 0..<1024 { memory.requestEnded(unanswered: 0) }
            }
        }
    }

    @Test func memoryStaysDuringABurst() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let givenBack: Int = await withCheckedContinuation { continuation in
            loop.execute {
                var count = 0
                let memory = FreedMemory(on: loop, after: .milliseconds(1)) { count += 1 }
                for _ in 0..<1024 { memory.requestEnded(unanswered: 65) }
                // The timer of the memory was started before.
                _ = loop.schedule(at: .now + .milliseconds(2)) { continuation.resume(returning: count) }
            }
        }
        #expect(givenBack == 0)
    }
}
