import Foundation
import Logging
import OpenURLBus
import Reactor
import SQLite
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The deliveries with a time in a database file.
@Suite(.timeLimit(.minutes(10))) struct TimedStoreTests {
    private let directory = TemporaryState()
    private let log = RecordedLog()
    private let zone = Lock(TimeZoneRules.berlin)

    private func store() -> DeliveryStore {
        DeliveryStore(
            path: directory.queue,
            zone: { [zone] in zone.withLock { $0 } },
            on: directory.loop,
            log: log.logger
        )
    }

    private func delivery(_ time: String, every: RepeatInterval? = nil, url: String = "app:1") -> Delivery {
        var options = OpenOptions()
        options.deliveryTime = DeliveryTime(rawValue: time)
        options.repeatInterval = every
        return Delivery(url: url, handler: "com.example.app", options: options, context: OpenContext())
    }

    /// Stores a delivery as the scheduler does.
    private func accept(_ delivery: Delivery, at now: String, in store: DeliveryStore) async throws -> Int64 {
        try await store.accept(delivery, at: instant(now), due: delivery.schedule?.due(in: zone.withLock { $0 }))
    }

    private func due(of id: Int64, in store: DeliveryStore, at now: String) async throws -> String? {
        let waiting = try #require(try await store.waiting(at: instant(now)))
        return waiting.first { $0.id == id }.map { DeliveryTime.instant(milliseconds: $0.due).rawValue }
    }

    @Test func nextStoreKnowsTheTime() async throws {
        let first = store()
        let id = try await accept(delivery("2026-06-03T09:00:00", every: .day), at: "2026-06-01T12:00:00Z", in: first)
        await first.giveBack()
        let next = store()
        let waiting = try #require(try await next.waiting(at: instant("2026-06-01T13:00:00Z"))?.first)
        #expect(waiting.id == id && waiting.isTimed)
        #expect(try waiting.due == instant("2026-06-03T07:00:00Z"))
        let entry = try #require(try await next.list(after: 0, limit: 1).first)
        #expect(entry.deliveryTime?.rawValue == "2026-06-03T09:00:00")
        #expect(entry.repeatInterval == .day)
        #expect(try entry.next == UInt64(instant("2026-06-03T07:00:00Z") / 1000))
        #expect(entry.state == .waiting)
    }

    @Test func changeOfTheZoneMovesTheTime() async throws {
        let store = store()
        let onTheClock = try await accept(delivery("2026-06-03T09:00:00"), at: "2026-06-01T12:00:00Z", in: store)
        let point = try await accept(delivery("2026-06-03T09:00:00Z"), at: "2026-06-01T12:00:00Z", in: store)
        zone.withLock { $0 = .newYork }
        let now = "2026-06-01T13:00:00Z"
        #expect(try await due(of: onTheClock, in: store, at: now) == "2026-06-03T13:00:00Z")
        #expect(try await due(of: point, in: store, at: now) == "2026-06-03T09:00:00Z")
        // The list has the same time.
        let entry = try #require(try await store.list(after: 0, limit: 1).first)
        #expect(try entry.next == UInt64(instant("2026-06-03T13:00:00Z") / 1000))
    }

    @Test func repeatedDeliveryStaysAndHasANameForEachTurn() async throws {
        let store = store()
        let start = "2026-06-01T12:00:00Z"
        let id = try await accept(delivery("2026-06-03T09:00:00", every: .day), at: start, in: store)
        for (turn, next) in [(0, "2026-06-04T07:00:00Z"), (1, "2026-06-05T07:00:00Z")] as [(Int64, String)] {
            let begun = try #require(try await store.begin(id))
            #expect(begun.attempt == 1)
            #expect(begun.delivery.name(id) == "\(id).\(turn)")
            let now = try instant(next) - 86_400_000 + 100
            #expect(try await store.succeed(id, .taken, at: now) == instant(next))
        }
        // Days without a router count once.
        #expect(try await due(of: id, in: store, at: "2026-06-20T12:00:00Z") == "2026-06-05T07:00:00Z")
        _ = try await store.begin(id)
        #expect(
            try await store.succeed(id, .taken, at: instant("2026-06-20T12:00:00Z")) == instant("2026-06-21T07:00:00Z")
        )
        // There is no reply to keep, because another delivery comes.
        guard case .some(.none) = try await store.outcome(of: id, at: 0) else {
            Issue.record("a repeated delivery has an outcome")
            return
        }
        #expect(try await store.drop(id))
        #expect(try await store.succeed(id, .taken, at: 0) == nil)
    }

    @Test func repeatedDeliveryThatFailsForGoodWaitsForItsNextTime() async throws {
        let store = store()
        let id = try await accept(
            delivery("2026-06-03T09:00:00", every: .day),
            at: "2026-06-01T12:00:00Z",
            in: store
        )
        _ = try await store.begin(id)
        let now = try instant("2026-06-03T07:00:01Z")
        let again = try await store.fail(id, OpenURLError(.launchFailed, "busy"), due: now + 1000, at: now)
        #expect(again == .waiting(due: now + 1000))
        // A retry is not moved by a change of the zone.
        zone.withLock { $0 = .tokyo }
        #expect(try await due(of: id, in: store, at: "2026-06-03T07:00:01Z") == "2026-06-03T07:00:02Z")
        zone.withLock { $0 = .berlin }
        _ = try await store.begin(id)
        let after = try await store.fail(id, OpenURLError(.declined, "no"), due: nil, at: now + 1000)
        #expect(try after == .waiting(due: instant("2026-06-04T07:00:00Z")))
        let entry = try #require(try await store.list(after: 0, limit: 1).first)
        #expect(entry.state == .waiting && entry.attempts == 0)
        #expect(entry.error == RemoteError(OpenURLError.Code.declined.errorName, "no"))
        // The next success forgets the error.
        _ = try await store.begin(id)
        _ = try await store.succeed(id, .taken, at: instant("2026-06-04T07:00:01Z"))
        #expect(try await store.list(after: 0, limit: 1).first?.error == nil)
    }

    @Test func repeatedDeliveryThatEndsEveryRouterBecomesADeadLetter() async throws {
        let store = store()
        let id = try await accept(delivery("2026-06-03T09:00:00", every: .day), at: "2026-06-01T12:00:00Z", in: store)
        for _ in 1...RetryDelay.attempts { #expect(try await store.begin(id) != nil) }
        #expect(try await store.begin(id) == nil)
        #expect(try await store.list(after: 0, limit: 1).first?.state == .dead)
    }

    @Test func damagedTimeIsIgnored() async throws {
        let store = store()
        let id = try await accept(delivery("2026-06-03T09:00:00", every: .day), at: "2026-06-01T12:00:00Z", in: store)
        try Database(path: directory.queue, .existing).execute(
            "UPDATE deliveries SET at = 'soon', every = 'fortnight', turn = 'x'"
        )
        #expect(try await due(of: id, in: store, at: "2026-06-01T13:00:00Z") == "2026-06-03T07:00:00Z")
        let entry = try #require(try await store.list(after: 0, limit: 1).first)
        #expect(entry.deliveryTime == nil && entry.repeatInterval == nil)
        #expect(try await store.succeed(id, .taken, at: 0) == nil)
        #expect(try await store.list(after: 0, limit: 1) == [])
    }

    @Test func timedDeliveriesShareTheQueue() async throws {
        var limits = DeliveryStoreLimits()
        limits.deliveries = 2
        let store = DeliveryStore(path: directory.queue, limits: limits, on: directory.loop, log: log.logger)
        _ = try await store.accept(delivery("2030-01-01T00:00:00Z"), at: 0, due: 1)
        await #expect(throws: DeliveryStoreError.self) {
            _ = try await store.accept(delivery("2030-01-01T00:00:00Z"), at: 0, due: 1)
        }
    }
}

/// URLs that the router delivers at a time.
@Suite(.timeLimit(.minutes(10))) struct TimedQueueTests {
    private let handler: BusName = "com.example.app"
    private let owner: BusName = ":1.1"
    private let directory = TemporaryState()
    private let log = RecordedLog()

    private func router(
        on bus: FakeHandlers,
        limits: RouterLimits = .init(),
        zone: @escaping @Sendable () -> TimeZoneRules = { .utc }
    ) throws -> URLRouter {
        let store = DeliveryStore(path: directory.queue, zone: zone, on: directory.loop, log: log.logger)
        return URLRouter([try .test("com.example.app")], on: bus, limits: limits, deliveries: store, log: log.logger)
    }

    private func at(_ time: DeliveryTime, every interval: RepeatInterval? = nil) -> OpenOptions {
        var options = OpenOptions()
        options.deliveryTime = time
        options.repeatInterval = interval
        return options
    }

    private func state(of id: String, _ router: URLRouter) async throws -> QueuedURL? {
        try await router.queuedURLs(caller: ownConnection).first { $0.id == id }
    }

    @Test func urlIsDeliveredAtItsTime() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        // A later time is no obstacle to a URL without a time, and none to an earlier time.
        _ = try await router.open("app:far", at(.after(.seconds(3600))), caller: ":1.9")
        var queued = OpenOptions()
        queued.isQueued = true
        let now = try #require(try await router.open("app:now", queued, caller: ":1.9").id)
        await bus.wait(for: .opened("app:now", at: owner))
        bus.answer("app:now")
        await bus.wait(for: .announcedQueued(now, .delivered))
        let start = WallClock.milliseconds
        let result = try await router.open("app:late", at(.after(.milliseconds(300))), caller: ":1.9")
        #expect(result.way == .queued)
        await bus.wait(for: .opened("app:late", at: owner))
        #expect(WallClock.milliseconds - start >= 300)
        bus.answer("app:late")
        await bus.wait(for: .announcedQueued(try #require(result.id), .delivered))
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.url) == ["app:far"])
        await router.stopDeliveries()
        #expect(bus.opened == [])
    }

    @Test func timeThatHasPassedIsRefused() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        for (time, shown) in [
            (DeliveryTime.instant(milliseconds: WallClock.milliseconds - 26_000), nil as String?),
            (.wallClock(try wall("2020-02-29T09:30:00")), "2020-02-29T09:30:00"),
        ] {
            let error = await failure { () throws(OpenURLError) in
                try await router.open("app:1", at(time), caller: ownConnection)
            }
            #expect(error?.code == .notQueued)
            #expect(error?.message == "the time \(shown ?? time.rawValue) has passed")
        }
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        // The call may have been on its way for a while.
        let recent = at(.instant(milliseconds: WallClock.milliseconds - 5000))
        #expect(try await router.open("app:1", recent, caller: ownConnection).way == .queued)
    }

    @Test func droppedURLIsNotDelivered() async throws {
        let bus = try FakeHandlers([handler: owner])
        let zone = Lock(TimeZoneRules.utc)
        let router = try router(on: bus) { zone.withLock { $0 } }
        await router.startDeliveries()
        let time = try #require(WallClock.wall(in: 3600))
        let dropped = try #require(try await router.open("app:1", at(time), caller: ownConnection).id)
        _ = try await router.open("app:2", at(time), caller: ownConnection)
        try await router.dropQueued(dropped, caller: ownConnection)
        // The time of both comes.
        zone.withLock { $0 = .tokyo }
        await router.clockHasChanged()
        await bus.wait(for: .opened("app:2", at: owner))
        bus.answer("app:2")
        await router.stopDeliveries()
        #expect(bus.opened == [])
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func retryDeliversBeforeTheTime() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let far = try #require(WallClock.wall(in: 7200))
        let id = try #require(try await router.open("app:1", at(far, every: .day), caller: ownConnection).id)
        let next = try await state(of: id, router)?.next
        try await router.retryQueued(id, caller: ownConnection)
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await bus.wait(for: .announcedQueued(id, .delivered))
        // The turn is still to come.
        #expect(try await state(of: id, router)?.next == next)
        await router.stopDeliveries()
    }

    @Test func repeatedURLWaitsAgain() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let soon = try #require(WallClock.wall(in: 1))
        let id = try #require(try await router.open("app:1", at(soon, every: .day), caller: ownConnection).id)
        await bus.wait(for: .opened("app:1", at: owner))
        #expect(bus.context(of: "app:1")?.requestID == "\(id).0")
        bus.answer("app:1")
        await bus.wait(for: .announcedQueued(id, .delivered))
        let entry = try #require(try await state(of: id, router))
        #expect(entry.state == .waiting)
        #expect(try #require(entry.next) > UInt64(WallClock.milliseconds / 1000) + 86_000)
        // A handler that refuses one delivery gets the next one all the same.
        try await router.retryQueued(id, caller: ownConnection)
        await bus.wait(for: .opened("app:1", at: owner))
        #expect(bus.context(of: "app:1")?.requestID == "\(id).1")
        bus.answer("app:1", .failure(.named(OpenURLError.Code.declined.errorName, "not today")))
        await bus.wait(for: .announcedQueued(id, .waiting))
        #expect(try await state(of: id, router)?.error?.name == OpenURLError.Code.declined.errorName)
        await router.stopDeliveries()
    }

    @Test func waitForARepeatedURLEndsWithItsNextDelivery() async throws {
        let bus = try FakeHandlers([handler: owner, ownConnection: ownConnection])
        let router = try router(on: bus)
        await router.startDeliveries()
        let far = try #require(WallClock.wall(in: 7200))
        let id = try #require(try await router.open("app:1", at(far, every: .day), caller: ownConnection).id)
        for isTaken in [true, false] {
            let wait = Task { try await router.outcome(ofQueued: #require(UInt64(id)), caller: ownConnection) }
            try await eventually(await router.waits) { $0 == 1 }
            try await router.retryQueued(id, caller: ownConnection)
            await bus.wait(for: .opened("app:1", at: owner))
            if isTaken {
                bus.answer("app:1")
                #expect(try await wait.value.reply == ["k": "v"])
            } else {
                bus.answer("app:1", .failure(.named(OpenURLError.Code.declined.errorName, "no")))
                await #expect(throws: OpenURLError.self) { try await wait.value }
            }
        }
        await router.stopDeliveries()
    }

    @Test func nextRouterDeliversWhatTheTimeOfThePreviousOneMissed() async throws {
        let bus = try FakeHandlers([handler: owner])
        let first = try router(on: bus)
        let time = DeliveryTime.after(.milliseconds(50))
        _ = try await first.open("app:1", at(time), caller: ownConnection)
        _ = try await first.open("app:2", at(.after(.seconds(3600))), caller: ownConnection)
        await first.stopDeliveries()
        guard case .instant(let due) = time else {
            Issue.record("\(time) is no instant")
            return
        }
        try await eventually(WallClock.milliseconds) { $0 > due }
        let next = try router(on: bus)
        await next.startDeliveries()
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await next.stopDeliveries()
        #expect(bus.opened == [])
        #expect(try await next.queuedURLs(caller: ownConnection).map(\.url) == ["app:2"])
    }

    /// A jump of the clock does the same: both make the scheduler look up the times again.
    @Test func changeOfTheZoneMakesAURLDue() async throws {
        let bus = try FakeHandlers([handler: owner])
        let zone = Lock(TimeZoneRules.utc)
        let router = try router(on: bus) { zone.withLock { $0 } }
        await router.startDeliveries()
        let time = try #require(WallClock.wall(in: 3600))
        _ = try await router.open("app:1", at(time), caller: ownConnection)
        _ = try await router.open("app:2", at(.after(.seconds(3600))), caller: ownConnection)
        zone.withLock { $0 = .tokyo }
        await router.clockHasChanged()
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await router.stopDeliveries()
        #expect(bus.opened == [])
    }

    @Test func changeOfTheZonePutsOffAURL() async throws {
        let bus = try FakeHandlers([handler: owner])
        let zone = Lock(TimeZoneRules.tokyo)
        let router = try router(on: bus) { zone.withLock { $0 } }
        await router.startDeliveries()
        let time = try #require(WallClock.wall(in: 9 * 3600 + 600))
        let id = try #require(try await router.open("app:1", at(time), caller: ownConnection).id)
        let before = try #require(try await state(of: id, router)?.next)
        zone.withLock { $0 = .utc }
        await router.clockHasChanged()
        #expect(try await state(of: id, router)?.next == before + 9 * 3600)
        await router.stopDeliveries()
        #expect(bus.opened == [])
    }

    /// The bound is generous: the test is about work that grows with the square of the number.
    @Test(.timeLimit(.minutes(5))) func tenThousandURLsWaitForTheirTimes() async throws {
        let bus = try FakeHandlers([handler: owner])
        let first = try router(on: bus)
        let count = 10_000
        for batch in stride(from: 0, to: count, by: 500) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in batch..<batch + 500 {
                    let options = at(.after(.seconds(3600 + number)))
                    group.addTask { _ = try await first.open("app:\(number)", options, caller: nil) }
                }
                try await group.waitForAll()
            }
        }
        await first.stopDeliveries()
        let next = try router(on: bus)
        let start = ContinuousClock.now
        await next.startDeliveries()
        let id = try #require(try await next.open("app:soon", at(.after(.milliseconds(200))), caller: nil).id)
        await bus.wait(for: .opened("app:soon", at: owner))
        bus.answer("app:soon")
        await bus.wait(for: .announcedQueued(id, .delivered))
        #expect(ContinuousClock.now - start < .seconds(60))
        let rows = try Database(path: directory.queue, .existing).prepare("SELECT count(*) FROM deliveries")
        #expect(try rows.step() && rows.integer(0) == Int64(count))
        await next.stopDeliveries()
        #expect(bus.opened == [])
    }
}

extension WallClock {
    /// Returns a time on a clock that shows UTC, in whole seconds from now.
    fileprivate static func wall(in seconds: Int64) -> DeliveryTime? {
        WallClockTime(seconds: milliseconds / 1000 + seconds).map(DeliveryTime.wallClock)
    }
}

extension URLRouter {
    /// The alarm reports a jump of the clock, or the watch a change of the zone.
    fileprivate func clockHasChanged() async { await startDeliveries() }
}
