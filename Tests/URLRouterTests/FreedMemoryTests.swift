import Reactor
import Testing

@testable import URLRouter

/// The return of memory after a burst of requests.
@Suite(.timeLimit(.minutes(1))) struct FreedMemoryTests {
    @Test func memoryIsGivenBackAfterEachBurst() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        await withCheckedContinuation { continuation in
            loop.execute {
                var rounds = 0
                func burst(_ memory: FreedMemory?) {
                    for _ in 0..<1000 { memory?.requestEnded() }
                }
                var memory: FreedMemory?
                memory = FreedMemory(on: loop, after: .milliseconds(1)) {
                    rounds += 1
                    if rounds == 2 { continuation.resume() } else { burst(memory) }
                }
                burst(memory)
            }
        }
    }

    @Test func memoryIsGivenBackOnceAfterTwoBurstsInARow() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let givenBack: Int = await withCheckedContinuation { continuation in
            loop.execute {
                var count = 0
                let memory = FreedMemory(on: loop, after: .milliseconds(1)) {
                    count += 1
                    // A second return would come with a timer, and no timer is left.
                    _ = loop.schedule(at: .now + .milliseconds(3)) { continuation.resume(returning: count) }
                }
                for _ in 0..<2048 { memory.requestEnded() }
            }
        }
        #expect(givenBack == 1)
    }
}
