import DBus
import OpenURLBus
import Testing

@testable import URLHandler

/// The queue runs one event at a time, in the order of arrival, up to the last event.
///
/// The tests run on the main actor, so an event runs only while a test waits for an event.
@MainActor @Suite(.timeLimit(.minutes(10))) struct EventQueueTests {
    private let queue = EventQueue()

    /// Adds an event without waiting for its turn. The event is in the queue when this method returns.
    private func add<T: Sendable>(_ body: @escaping @MainActor @Sendable () async throws -> T) -> Task<T, any Error> {
        // The task runs at once, up to the point where the event waits for its turn.
        Task.immediate { try await queue.run(body) }
    }

    /// Adds the last event and returns after that event.
    private func finish() async {
        await withCheckedContinuation { ended in queue.finish { ended.resume() } }
    }

    @Test func eventsRunInOrderOfArrival() async throws {
        let log = Log()
        let tasks = (0..<100).map { number in
            add { () -> Int in
                log.lines.append("\(number)")
                return number
            }
        }
        #expect(log.lines == [])
        await finish()
        #expect(log.lines == (0..<100).map { "\($0)" })
        for (number, task) in tasks.enumerated() { #expect(try await task.value == number) }
    }

    @Test func idleQueueStartsAgain() async throws {
        for number in 0..<100 {
            #expect(try await queue.run { number } == number)
        }
    }

    @Test func suspendedEventBlocksLaterEvents() async throws {
        let log = Log()
        let (gate, opens) = AsyncStream<Void>.makeStream()
        let (reached, reaches) = AsyncStream<Void>.makeStream()
        let first = add {
            log.lines.append("begin")
            reaches.yield()
            for await _ in gate { break }
            log.lines.append("end")
        }
        let second = add { log.lines.append("second") }
        for await _ in reached { break }
        // All other work of the main actor has run after this loop.
        for _ in 0..<100 { await Task { @MainActor in }.value }
        #expect(log.lines == ["begin"])
        opens.yield()
        try await second.value
        #expect(log.lines == ["begin", "end", "second"])
        try await first.value
    }

    @Test func queueIsIdleAfterTheLastAnswer() async throws {
        #expect(queue.isIdle)
        let event = add { #expect(!queue.isIdle) }
        #expect(!queue.isIdle)
        try await event.value
        #expect(queue.isIdle)
        let failing = add { throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await failing.value }
        #expect(queue.isIdle)
        await finish()
        // The last event is still pending, so the queue is not idle.
        #expect(!queue.isIdle)
    }

    @Test func errorOfAnEventReachesItsSender() async throws {
        let failing = add { throw OpenURLError(.declined, "no") }
        let next = add { "next" }
        await #expect(throws: OpenURLError(.declined, "no")) { try await failing.value }
        #expect(try await next.value == "next")
    }

    @Test func eventsAfterTheLastOneAreRefused() async throws {
        let log = Log()
        let before = add { log.lines.append("before") }
        queue.finish { log.lines.append("last") }
        let after = add { log.lines.append("after") }
        // A second call of `finish` has no effect.
        queue.finish { log.lines.append("again") }
        await #expect(throws: RemoteError(HandlerInterface.ending, "the handler is ending")) { try await after.value }
        try await before.value
        for _ in 0..<100 { await Task { @MainActor in }.value }
        #expect(log.lines == ["before", "last"])
    }

    @Test func lastEventWaitsUntilNoOtherOneDoes() async throws {
        let log = Log()
        let before = add { log.lines.append("before") }
        for _ in 0..<2 { queue.finishWhenIdle { log.lines.append("last") } }
        let after = add {
            log.lines.append("after")
            _ = add { log.lines.append("later") }
        }
        #expect(log.lines == [])
        try await before.value
        try await after.value
        for _ in 0..<100 { await Task { @MainActor in }.value }
        #expect(log.lines == ["before", "after", "later", "last"])
        let refused = add { log.lines.append("too late") }
        await #expect(throws: RemoteError(HandlerInterface.ending, "the handler is ending")) { try await refused.value }
    }

    @Test func lastEventThatWaitsGivesWayToOneThatDoesNot() async throws {
        let log = Log()
        queue.finishWhenIdle { log.lines.append("idle") }
        let after = add { log.lines.append("after") }
        queue.finish { log.lines.append("last") }
        try await after.value
        for _ in 0..<100 { await Task { @MainActor in }.value }
        #expect(log.lines == ["after", "last"])
    }

    @Test func waitingEventsAreLimitedAndTheRestIsRefusedAtOnce() async throws {
        #expect(EventQueue.limit == 16_384)
        let log = Log()
        let tasks = (0..<EventQueue.limit).map { _ in add { log.count += 1 } }
        let refused = add { log.count += 1 }
        // The last event does not count towards the limit.
        await finish()
        await #expect(throws: OpenURLError(.limitsExceeded, "16384 events are already waiting; try again later")) {
            try await refused.value
        }
        for task in tasks { try await task.value }
        #expect(log.count == EventQueue.limit)
    }
}

/// A log of events.
@MainActor private final class Log {
    var lines: [String] = []
    var count = 0
}
