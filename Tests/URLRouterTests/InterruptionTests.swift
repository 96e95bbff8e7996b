import Glibc
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// Interruptions that programs begin: who ends them, and how many there may be.
@Suite(.timeLimit(.minutes(10))) struct InterruptionTests {
    private static let id: BusName = "com.example.app"
    private static let owner: BusName = ":1.1"
    private static let first: BusName = ":1.5"
    private static let second: BusName = ":1.6"
    private let app: BundleIdentifier
    private let bus: FakeHandlers

    init() throws {
        app = try BundleIdentifier("com.example.app")
        let programs = [Self.first, Self.second, ownConnection]
        bus = try FakeHandlers(
            Dictionary(uniqueKeysWithValues: programs.map { ($0, $0) }).merging([
                Self.id: Self.owner, "com.example.other": ":1.2",
            ]) { $1 }
        )
        for program in programs { bus.setProcess(of: program, to: UInt32(getpid())) }
    }

    /// Returns a router with a handler that a URL has made active.
    private func activeRouter(_ limits: RouterLimits = .patient) async throws -> URLRouter {
        let router = URLRouter([try .test("com.example.app"), try .test("com.example.other")], on: bus, limits: limits)
        try await open("app:x", at: Self.owner, router)
        return router
    }

    private func open(_ url: String, at owner: BusName, _ router: URLRouter) async throws {
        let request = Task { try await router.open(url) }
        await bus.wait(for: .opened(url, at: owner))
        bus.answer(url)
        _ = try await request.value
    }

    @Test func interruptionEndsWithTheProgramsConnection() async throws {
        let router = try await activeRouter()
        try await router.interrupt(app, caller: Self.first)
        await bus.wait(for: .interrupted(Self.id))
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .interrupted))
        bus.setOwner(of: Self.first, to: nil)
        await bus.wait(for: .resumed(Self.id))
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
        #expect(!bus.watchedNames.contains(Self.first))
    }

    @Test func handlerIsActiveAgainAfterTheLastProgramsInterruption() async throws {
        let router = try await activeRouter()
        for program in [Self.first, Self.second, Self.first] { try await router.interrupt(app, caller: program) }
        #expect(bus.count(of: .interrupted(Self.id)) == 1)
        try await router.resume(app, caller: Self.first)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .interrupted))
        try await router.resume(app, caller: Self.second)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
        #expect(bus.count(of: .resumed(Self.id)) == 1)
    }

    @Test func programThatHasNotInterruptedTheHandlerEndsAllInterruptions() async throws {
        let router = try await activeRouter()
        for program in [Self.first, Self.second] { try await router.interrupt(app, caller: program) }
        try await router.resume(app, caller: ownConnection)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
        #expect(bus.watchedNames.filter { $0 == Self.first || $0 == Self.second }.isEmpty)
        // There is nothing left to end.
        try await router.resume(app, caller: Self.first)
        #expect(bus.count(of: .resumed(Self.id)) == 1)
    }

    @Test func interruptionEndsWhenTheHandlerLeavesTheForeground() async throws {
        let router = try await activeRouter()
        try await router.interrupt(app, caller: Self.first)
        try await open("other:x", at: ":1.2", router)
        await bus.wait(for: .sentToBackground(Self.id))
        #expect(!bus.watchedNames.contains(Self.first))
        try await open("app:y", at: Self.owner, router)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
        #expect(bus.count(of: .interrupted(Self.id)) == 1)
        #expect(bus.count(of: .resumed(Self.id)) == 0)
    }

    @Test func urlDoesNotEndTheInterruption() async throws {
        let router = try await activeRouter()
        try await router.interrupt(app, caller: Self.first)
        try await open("app:y", at: Self.owner, router)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .interrupted))
        #expect(await router.state(ofHandler: app) == .inactive)
    }

    @Test func onlyAnActiveHandlerIsInterrupted() async throws {
        let router = try await activeRouter()
        try await router.background(app)
        let error = await #expect(throws: OpenURLError.self) {
            try await router.interrupt(app, caller: Self.first)
        }
        #expect(error == OpenURLError(.notAllowed, "com.example.app is not active"))
        #expect(!bus.watchedNames.contains(Self.first))
        let stopped = try BundleIdentifier("com.example.stopped")
        let unknown = await #expect(throws: OpenURLError.self) {
            try await router.interrupt(stopped, caller: Self.first)
        }
        #expect(unknown?.code == .noHandler)
        let nameless = await #expect(throws: OpenURLError.self) { try await router.interrupt(app, caller: nil) }
        #expect(nameless?.code == .notAllowed)
    }

    @Test func programThatHasLeftInterruptsNothing() async throws {
        let router = try await activeRouter()
        let error = await #expect(throws: OpenURLError.self) { try await router.interrupt(app, caller: ":1.99") }
        #expect(error?.code == .cancelled)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
    }

    @Test func oneApplicationGetsHalfOfTheInterruptions() async throws {
        var limits = RouterLimits.patient
        limits.interruptions = 2
        let router = try await activeRouter(limits)
        try await router.interrupt(app, caller: Self.first)
        let error = await #expect(throws: OpenURLError.self) {
            try await router.interrupt(app, caller: Self.second)
        }
        #expect(error?.code == .limitsExceeded)
        // The place is free again when the interruption ends.
        try await router.resume(app, caller: Self.first)
        try await router.interrupt(app, caller: Self.second)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .interrupted))
    }

    @Test func handlerIsActiveAgainWhenNeitherAProgramNorTheLockInterruptsIt() async throws {
        let router = try await activeRouter()
        try await router.interrupt(app, caller: Self.first)
        await router.lockScreen()
        try await router.resume(app, caller: Self.first)
        #expect(await router.state(ofHandler: app) == .inactive)
        await router.unlockScreen()
        #expect(await router.state(ofHandler: app) == .active)
        #expect(bus.count(of: .interrupted(Self.id)) == 1)
        await router.lockScreen()
        try await router.interrupt(app, caller: Self.first)
        await router.unlockScreen()
        #expect(await router.state(ofHandler: app) == .inactive)
        try await router.resume(app, caller: Self.first)
        #expect(await router.state(ofHandler: app) == .active)
    }

    @Test func handlerThatComesBackAfterASleepIsNotAskedToShowItself() async throws {
        let router = try await activeRouter()
        await router.pause()
        #expect(await router.state(ofHandler: app) == .background)
        await router.continueAfterPause()
        await bus.wait(for: .resumed(Self.id))
        #expect(await router.state(ofHandler: app) == .active)
        #expect(bus.count(of: .activated(Self.id, at: Self.owner)) == 0)
    }

    @Test func handlerThatIsReplacedDuringTheSleepStaysInTheBackground() async throws {
        let router = try await activeRouter()
        await router.lockScreen()
        await router.pause()
        await router.continueAfterPause()
        // The screen is still locked.
        #expect(await router.state(ofHandler: app) == .background)
        try await open("other:x", at: ":1.2", router)
        await router.unlockScreen()
        try await router.background(BundleIdentifier("com.example.other"))
        await router.unlockScreen()
        #expect(bus.count(of: .resumed(Self.id)) == 0)
        #expect(await router.state(ofHandler: app) == .background)
    }

    @Test func resumingEndsTheInterruptionByTheLock() async throws {
        let router = try await activeRouter()
        await router.lockScreen()
        #expect(await router.state(ofHandler: app) == .inactive)
        try await router.resume(app, caller: ownConnection)
        #expect(await router.state(ofHandler: app) == .active)
    }

    @Test func handlerThatCannotBeToldIsInterruptedAllTheSame() async throws {
        bus.failInterruptions(with: .named(.failed))
        let router = try await activeRouter()
        try await router.interrupt(app, caller: Self.first)
        #expect(await router.state(ofHandler: app) == .inactive)
        try await router.resume(app, caller: Self.first)
        #expect(await router.state(ofHandler: app) == .active)
    }

    @Test func nextRouterEndsTheInterruptionsOfAnEarlierOne() async throws {
        bus.setState(of: Self.id, to: .inactive)
        let router = URLRouter([try .test("com.example.app")], on: bus)
        _ = await router.status()
        await bus.wait(for: .resumed(Self.id))
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
    }
}
