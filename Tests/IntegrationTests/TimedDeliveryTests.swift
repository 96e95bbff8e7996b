import DBus
import Foundation
import Glibc
import OpenURLBus
import TestSupport
import Testing

/// URLs with a time, with real processes.
@Suite(.timeLimit(.minutes(10))) struct TimedDeliveryTests {
    private static let app = "com.example.app"

    private func at(_ time: DeliveryTime) -> OpenOptions {
        var options = OpenOptions()
        options.deliveryTime = time
        return options
    }

    private func opened(_ router: RouterProcess) throws -> [String] {
        try router.log(of: Self.app).filter { $0.hasPrefix("open ") }
    }

    private func milliseconds() -> Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    @Test func urlIsDeliveredByTheAlarm() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let start = milliseconds()
        let run = try await router.openurl("--at", "+1s", "--verbose", "app:1")
        #expect(run.status == 0, "\(run.errors)")
        let id = try #require(run.output.split(separator: " ").last?.dropLast(2))
        try await changes.wait(for: "delivered", of: String(id))
        #expect(milliseconds() - start >= 1000)
        #expect(try opened(router) == ["open app:1"])
        #expect(try await router.queuedURLs() == [])
    }

    /// The router is killed before the time, and the time passes without a router.
    @Test func missedURLIsDeliveredOnceByTheNextRouter() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let soon = milliseconds() + 5000
        _ = try await router.open("app:1", at(.instant(milliseconds: soon)))
        _ = try await router.open("app:2", at(.after(.seconds(3600))))
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        _ = try await router.connection.watchName(RouterService.name) { _, new in continuation.yield(new) }
        kill(router.pid, SIGKILL)
        for await owner in owners where owner == nil { break }
        try await eventually(milliseconds()) { $0 > soon }
        for _ in 1...2 {
            try await router.startNext()
            try await eventually(await router.queuedURLs()) { $0.map(\.url) == ["app:2"] }
            #expect(try opened(router) == ["open app:1"])
            kill(router.currentPID, SIGTERM)
            for await owner in owners where owner == nil { break }
        }
    }

    @Test func listShowsTheTimeAndADroppedURLStaysAway() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        #expect(try await router.openurl("--at", "2030-05-06T07:08", "--every", "week", "app:1").status == 0)
        let id = try #require(try await router.queuedURLs().first?.id)
        // The test's processes share the machine's time zone.
        let list = try await router.openurl("queue", "list", "--show-queries")
        #expect(list.output == "\(id)\t\(Self.app)\twaiting\t0\t2030-05-06T07:08:00\tweek\tapp:1\t–\n")
        let json = try await router.openurl("queue", "list", "--json")
        #expect(json.output.contains(#""at":"2030-05-06T07:08:00","every":"week""#), "\(json.output)")
        #expect(try await router.openurl("queue", "drop", id).status == 0)
        #expect(try await router.queuedURLs() == [])
        let refused = try await router.openurl("--at", "2020-05-06T07:08", "app:1")
        #expect(refused.status == 10)
        #expect(refused.errors.hasSuffix("the time 2020-05-06T07:08:00 has passed\n"), "\(refused.errors)")
    }

    @Test func nothingIsDeliveredAfterAnAnsweredDrop() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        // On a busy machine, the time may come before the drop.
        for delay in [1000, 4000, 16_000, 64_000] as [Int64] {
            let due = milliseconds() + delay
            let dropped = try await router.open("app:\(delay)", at(.instant(milliseconds: due)))
            let kept = try await router.open("app:kept", at(.instant(milliseconds: due)))
            do {
                _ = try await router.connection.call(QueueInterface.drop, on: RouterService.object, dropped.id ?? "")
            } catch {
                // It has been delivered already.
                continue
            }
            let isInTime = milliseconds() < due
            try await changes.wait(for: "delivered", of: kept.id ?? "")
            guard isInTime else { continue }
            #expect(try !opened(router).contains("open app:\(delay)"))
            return
        }
        Issue.record("no URL was dropped before its time")
    }

    /// The attempt has begun, and the handler is starting for it.
    @Test func urlThatIsDroppedDuringTheLaunchDoesNotArrive() async throws {
        let router = try await RouterProcess([Self.app: ["gate"]])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let dropped = try #require(try await router.open("app:1", at(.after(.milliseconds(100)))).id)
        try await changes.wait(for: "delivering", of: dropped)
        _ = try await router.connection.call(QueueInterface.drop, on: RouterService.object, dropped)
        let gate = router.openGate(of: Self.app)
        let next = try await router.open("app:2", at(.after(.milliseconds(100))))
        try await changes.wait(for: "delivered", of: next.id ?? "")
        #expect(try opened(router) == ["open app:2"])
        try gate.close()
    }

    /// The clock skips 02:30 in central Europe on the day when summer begins.
    @Test func timeThatTheClockSkipsIsAfterTheGap() async throws {
        let router = try await RouterProcess(
            [Self.app: []],
            wrapper: ["/usr/bin/env", "TZ=CET-1CEST,M3.5.0,M10.5.0/3"]
        )
        defer { router.stop() }
        for (time, seconds) in [("2030-03-31T02:30", 1_901_149_200), ("2030-10-27T02:30", 1_919_291_400)] {
            #expect(try await router.openurl("--at", time, "app:1").status == 0)
            #expect(try await router.queuedURLs().last?.next == UInt64(seconds))
        }
    }
}
