import OpenURLBus
import Testing

@testable import URLRouter

/// The attempts at a delivery that count.
@Suite(.timeLimit(.minutes(5))) struct DeliveryAttemptsTests {
    private let directory = TemporaryState()
    private let log = RecordedLog()

    /// Makes no delivery.
    private struct FailingReceiver: DeliveryReceiver {
        let code: OpenURLError.Code
        let wasHandedOver: Bool

        func takes(_ delivery: Delivery) -> Bool { true }

        func attempt(_ delivery: Delivery, _ id: Int64, _ number: Int) async -> DeliveryAttempts.Result {
            .failed(OpenURLError(code, "why"), wasHandedOver: wasHandedOver)
        }

        func withdraw(_ id: Int64) {}
    }

    /// The end of an attempt that failed.
    private struct End {
        /// The number of attempts that count.
        let count: UInt32
        /// When the attempt would have been due by itself.
        let ownTime: ContinuousClock.Instant
        /// The times between which the attempt was made.
        let attempted: ClosedRange<ContinuousClock.Instant>
        /// When the next attempt is due; nil if the delivery is given up.
        var next: ContinuousClock.Instant?
        /// The time before which nothing makes the next attempt due; nil if there is none.
        var earliest: ContinuousClock.Instant?

        /// Returns whether a time is as long after the attempt as given.
        func isAfterAttempt(_ wait: Duration, _ time: ContinuousClock.Instant?) -> Bool {
            time.map { attempted.contains($0 - wait) } ?? false
        }
    }

    /// Makes an attempt that fails.
    ///
    /// - Parameters:
    ///   - left: the time until the attempt would have been due by itself.
    ///   - quarantine: for how long the handler must not be started; nil if it may be.
    private func attempt(
        _ left: Duration,
        _ code: OpenURLError.Code,
        wasHandedOver: Bool,
        quarantine: Duration? = nil
    ) async throws -> End {
        let bus = try FakeHandlers([:])
        let router = URLRouter([], on: bus)
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let attempts = DeliveryAttempts(
            store,
            bus,
            bus,
            AwaitedOutcomes(store, bus, bus.loop, RouterTasks(of: router), limit: 1),
            log: log.logger,
            receivers: { [FailingReceiver(code: code, wasHandedOver: wasHandedOver)] },
            quarantine: { _ in quarantine }
        )
        let delivery = Delivery(
            url: "app:1",
            handler: "com.example.app",
            options: OpenOptions(),
            context: OpenContext()
        )
        let id = try await store.accept(delivery, at: 0)
        let begin = ContinuousClock.now
        let due = WaitingDeliveries.Due(
            id: id,
            handler: delivery.handler,
            sender: delivery.caller,
            ownTime: begin + left
        )
        let disposition = await attempts.attempt(due)
        let attempted = begin...ContinuousClock.now
        let count = try #require(try await store.list(after: 0, limit: 1).first).attempts
        var end = End(count: count, ownTime: due.ownTime, attempted: attempted)
        if case .again(let next, let earliest) = disposition { (end.next, end.earliest) = (next, earliest) }
        return end
    }

    @Test func attemptAtItsOwnTimeCounts() async throws {
        let end = try await attempt(.zero, .launchFailed, wasHandedOver: false)
        #expect(end.count == 1)
        #expect(end.isAfterAttempt(.seconds(1), end.next), "\(end)")
        #expect(end.earliest == nil)
    }

    @Test func earlyAttemptThatReachesNoProcessDoesNotCount() async throws {
        let end = try await attempt(.seconds(3600), .launchFailed, wasHandedOver: false)
        #expect(end.count == 0)
        #expect(end.next == end.ownTime)
    }

    /// The start of the handler may itself make the next attempt due, again and again.
    @Test(arguments: [nil, Duration.seconds(30)]) func earlyAttemptsHaveAPause(_ quarantine: Duration?) async throws {
        let end = try await attempt(.seconds(3600), .launchFailed, wasHandedOver: false, quarantine: quarantine)
        #expect(end.isAfterAttempt(.seconds(1), end.earliest), "\(end)")
    }

    /// The process may have acted on the URL.
    @Test func earlyAttemptThatReachesAProcessCounts() async throws {
        let end = try await attempt(.seconds(3600), .handlerCrashed, wasHandedOver: true)
        #expect(end.count == 1)
        #expect(end.isAfterAttempt(.seconds(1), end.next), "\(end)")
    }

    @Test(arguments: [true, false]) func earlyAttemptCanEndTheDelivery(_ wasHandedOver: Bool) async throws {
        let end = try await attempt(.seconds(3600), .declined, wasHandedOver: wasHandedOver)
        #expect(end.count == 1)
        #expect(end.next == nil)
    }
}
