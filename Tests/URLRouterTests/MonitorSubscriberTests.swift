import Dispatch
import OpenURLBus
import Reactor
import Testing

@testable import DBus
@testable import URLRouter

/// The programs that watch the router's requests.
@Suite(.timeLimit(.minutes(10))) struct MonitorSubscriberTests {
    private static let first: BusName = ":1.5"
    private static let second: BusName = ":1.6"

    private let bus: FakeHandlers

    init() throws {
        bus = try FakeHandlers([
            "com.example.app": ":1.1", Self.first: Self.first, Self.second: Self.second, ownConnection: ownConnection,
        ])
    }

    private func router(_ limits: RouterLimits = .patient) throws -> URLRouter {
        URLRouter([try .test("com.example.app")], on: bus, limits: limits)
    }

    private func showingQueries() -> MonitorOptions {
        var options = MonitorOptions()
        options.showsQueries = true
        return options
    }

    @Test func nothingIsNotedWhileNobodyLooks() async throws {
        let router = try router()
        #expect(await !router.notesRequests)
        try await router.subscribe(toRequests: MonitorOptions(), Self.first)
        #expect(await router.notesRequests)
        await router.unsubscribe(fromRequests: Self.first)
        #expect(await !router.notesRequests)
    }

    @Test func eachSubscriberGetsWhatItWants() async throws {
        let router = try router()
        try await router.subscribe(toRequests: MonitorOptions(), Self.first)
        try await router.subscribe(toRequests: showingQueries(), Self.second)
        _ = await failure { () throws(OpenURLError) in try await router.open("nobody:x?token") }
        await bus.wait(for: .told(["nobody:x?…"], to: Self.first))
        await bus.wait(for: .told(["nobody:x?token"], to: Self.second))
    }

    @Test func nothingIsKeptForASubscriberThatHasGone() async throws {
        let router = try router()
        try await router.subscribe(toRequests: MonitorOptions(), Self.first)
        bus.setOwner(of: Self.first, to: nil)
        await router.wait { $0.watchers == 0 }
        #expect(await !router.notesRequests)
        // A connection that has ended before the router asks is none.
        try await router.subscribe(toRequests: MonitorOptions(), ":1.99")
        #expect(await router.watchers == 0)
    }

    @Test func subscriberThatDoesNotReadIsDropped() async throws {
        let router = try router()
        try await router.subscribe(toRequests: MonitorOptions(), Self.first)
        bus.stopReading(Self.first)
        _ = await failure { () throws(OpenURLError) in try await router.open("nobody:x") }
        await router.wait { $0.watchers == 0 }
    }

    @Test func subscribersAreLimited() async throws {
        var limits = RouterLimits.patient
        limits.monitors = 2
        let router = try router(limits)
        try await router.subscribe(toRequests: MonitorOptions(), Self.first)
        // The first one keeps its place, and may change its options.
        try await router.subscribe(toRequests: showingQueries(), Self.first)
        await #expect(throws: OpenURLError.self) {
            try await router.subscribe(toRequests: MonitorOptions(), Self.second)
        }
        #expect(await router.watchers == 1)
    }

    /// The router does not wait for the disk, and keeps a limited number of requests for it.
    @Test func requestsAreMissingInALogWhoseDiskIsSlow() async throws {
        let directory = TemporaryState()
        let log = RecordedLog()
        let requests = RequestLog(path: "\(directory.path)/log.sqlite", on: directory.loop, log: log.logger)
        let router = URLRouter([], on: bus, requests: requests)
        let disk = DispatchSemaphore(value: 0)
        directory.loop.execute { disk.wait() }
        for _ in 0..<2200 { _ = await failure { () throws(OpenURLError) in try await router.open("nobody:x") } }
        disk.signal()
        await router.storeLog()
        try await log.wait(for: "requests are missing from the log, because the disk is slow")
        var filter = MonitorFilter()
        filter.limit = 1
        #expect(try await router.loggedRequests(filter).map(\.url) == ["nobody:x"])
    }

    @Test func logIsOffWithoutAPlace() async throws {
        let router = try router()
        await #expect(throws: RemoteError.self) { _ = try await router.loggedRequests(MonitorFilter()) }
    }
}
