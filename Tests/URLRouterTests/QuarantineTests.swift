import Foundation
import OpenURLBus
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// A handler that crashes again and again, and the ways to start it before its time.
@Suite(.timeLimit(.minutes(10))) struct QuarantineTests {
    private let directory = TemporaryState()
    private let bus: FakeHandlers

    init() throws {
        bus = try FakeHandlers([:])
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        try use("/bin/false")
    }

    private var program: String { "\(directory.path)/handler" }

    /// Replaces the handler's program.
    private func use(_ program: String) throws {
        try #require(symlink(program, "\(self.program).new") == 0)
        try #require(rename("\(self.program).new", self.program) == 0)
    }

    private func handler(_ change: (inout HandlerManifest) throws -> Void = { _ in }) throws -> Handler {
        try .test("com.example.app", program: .path(program), change)
    }

    /// Returns a router whose handler has crashed too often.
    private func quarantined(deliveries: DeliveryStore? = nil) async throws -> URLRouter {
        var limits = RouterLimits()
        // The times of a busy machine.
        limits.crashPeriod = .seconds(600)
        limits.quarantine = .seconds(600)
        let router = URLRouter([try handler()], on: bus, limits: limits, deliveries: deliveries)
        for _ in 1...3 { #expect(await message(router).contains("exited with status 1")) }
        #expect(await isQuarantined(router))
        return router
    }

    private func message(_ router: URLRouter) async -> String {
        await failure { () throws(OpenURLError) in try await router.open("app:x") }?.message ?? ""
    }

    /// Whether the handler is not started. Every other attempt fails by the end of its program.
    private func isQuarantined(_ router: URLRouter) async -> Bool {
        await message(router).contains("'openurl activate --reset com.example.app' starts it now")
    }

    @Test func quarantineIsVisible() async throws {
        let router = try await quarantined()
        let end = try #require(await router.status().first?.quarantinedUntil)
        #expect(abs(Date().timeIntervalSince1970 + 300 - Double(end)) <= 301)
        let explained = try #require(
            try await router.explain("app:x", OpenOptions(), caller: ownConnection).quarantinedUntil
        )
        #expect(explained.distance(to: end).magnitude <= 1)
    }

    @Test func statusSaysHowTheLastProcessEnded() async throws {
        let failed = try #require(try await quarantined().status().first)
        #expect(failed.exitStatus == 1 && failed.signal == nil)
        let ended = try #require(failed.ended)
        #expect((0...600).contains(Date().timeIntervalSince1970 - Double(ended)))
        let shell = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            $0.arguments = ["-c", "kill -KILL $$"]
        }
        let router = URLRouter([shell], on: bus)
        #expect(await message(router).contains("was ended by signal 9 (Killed)"))
        let killed = try #require(await router.status().first)
        #expect(killed.signal == 9 && killed.exitStatus == nil && killed.ended != nil)
    }

    @Test func resetEndsTheQuarantine() async throws {
        let router = try await quarantined()
        try await router.reset(BundleIdentifier("com.example.app"))
        #expect(await router.status().first?.quarantinedUntil == nil)
        #expect(try await router.explain("app:x", OpenOptions(), caller: ownConnection).quarantinedUntil == nil)
        // All crashes are forgotten, not only the last.
        for _ in 1...3 { #expect(await !isQuarantined(router)) }
        #expect(await isQuarantined(router))
        await #expect(throws: OpenURLError.self) { try await router.reset(BundleIdentifier("com.example.none")) }
    }

    @Test func resetTriesTheURLsThatWaitForTheEndOfTheQuarantine() async throws {
        let log = RecordedLog()
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let router = try await quarantined(deliveries: store)
        await router.startDeliveries()
        var options = OpenOptions()
        options.isQueued = true
        let id = try #require(try await router.open("app:queued", options, caller: nil).id)
        await bus.wait(for: .announcedQueued(id, .delivering))
        await bus.wait(for: .announcedQueued(id, .waiting))
        // The router would try again by itself after a minute.
        let time = try await ContinuousClock().measure {
            try await router.reset(BundleIdentifier("com.example.app"))
            await bus.wait(for: .announcedQueued(id, .delivering))
        }
        #expect(time < .seconds(50))
        await router.stopDeliveries()
    }

    @Test func replacedProgramEndsTheQuarantine() async throws {
        let router = try await quarantined()
        try use("/bin/true")
        #expect(await router.status().first?.quarantinedUntil == nil)
        #expect(try await router.explain("app:x", OpenOptions(), caller: ownConnection).quarantinedUntil == nil)
        #expect(await message(router).contains("exited with status 0"))
    }

    /// Nobody waits for the launch of a handler that takes calls, so nobody would give up.
    @Test func handlerThatTakesCallsAndHangsIsStartedAgainAfterAPause() async throws {
        let sleep = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(1)
            $0.backgroundModes = [.voip]
        }
        let log = RecordedLog()
        var limits = RouterLimits()
        limits.quarantine = .seconds(600)
        let router = URLRouter([sleep], on: bus, limits: limits, log: log.logger)
        await router.adoptRunning()
        #expect(await message(router).contains("did not take its name on the bus within 1 second"))
        try await log.wait(for: "it is started again in 600 seconds")
    }

    @Test func changedManifestEndsTheQuarantine() async throws {
        let router = try await quarantined()
        let same = Registry(handlers: [try handler()])
        _ = await router.use(RegistrySnapshot(number: 1, registry: same))
        #expect(await isQuarantined(router))
        let changed = Registry(handlers: [try handler { $0.arguments = ["--verbose"] }])
        _ = await router.use(RegistrySnapshot(number: 2, registry: changed))
        #expect(await router.status().first?.quarantinedUntil == nil)
        #expect(await !isQuarantined(router))
    }
}
