import DBus
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The main thread of a handler, which runs the main actor, libdispatch's main queue and the event loop.
@Suite(.timeLimit(.minutes(10))) struct HandlerThreadTests {
    /// - Parameter behaviour: A handler whose `main` has waited cannot have the main thread any more, and works without it.
    @Test(arguments: [([], "main thread"), (["late"], "other thread")])
    func mainActorAndMainQueueShareAThread(_ behaviour: [String], _ thread: String) async throws {
        let handler = try await HandlerProcess(on: try await PrivateBus(), ["main-queue"] + behaviour)
        defer { handler.stop() }
        for number in 0..<20 {
            #expect(try await handler.open("app:\(number)").isHandled)
            let log = try handler.log().filter { $0 != "didBecomeActive" }
            #expect(log.suffix(3) == ["open app:\(number)", "main queue", thread])
        }
    }

    @Test(arguments: [[], ["late"]]) func blockedMainActorLeavesTheLoopFree(_ behaviour: [String]) async throws {
        let handler = try await HandlerProcess(on: try await PrivateBus(), ["hang=open"] + behaviour)
        defer { handler.stop() }
        let answer = Task { try await handler.open("app:1") }
        try await eventually(await handler.call(HandlerInterface.progress, Empty()).values.0) { $0 == "open" }
        // Each call arrives at a loop that sleeps.
        for _ in 0..<100 {
            let (phase, microseconds) = try await handler.call(HandlerInterface.progress, Empty()).values
            #expect(phase == "open" && microseconds > 0)
        }
        // The end has a time limit of five seconds, and a signal does not end the method that is running.
        let start = ContinuousClock.now
        kill(handler.pid, SIGTERM)
        #expect(try await handler.status() == 1)
        #expect(ContinuousClock.now - start > .seconds(4))
        await #expect(throws: CallError.self) { try await answer.value }
    }
}
