import OpenURLBus
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// The sessions of handlers: the order of events and effects, and the life of a session.
@Suite(.timeLimit(.minutes(10))) struct SessionTests {
    private static let id: BusName = "com.example.app"
    private static let owner: BusName = ":1.1"

    @Test func lookingMakesNoSession() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        #expect(await router.status().map(\.state) == [.known(.notRunning)])
        #expect(try await router.canOpen("app:x", caller: nil))
        #expect(try await router.explain("app:x", OpenOptions(), caller: nil).handler == "com.example.app")
        await #expect(throws: OpenURLError.self) { try await router.background(BundleIdentifier("com.example.app")) }
        try await router.terminate(BundleIdentifier("com.example.app"))
        #expect(await router.hasNoSession)
    }

    @Test func statusAsksTheBusOnceForAllHandlersThatDoNotRun() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test("com.example.app"), try .test("com.example.other")], on: bus)
        _ = await router.status()
        #expect(bus.count(of: .askedForOwner(Self.id)) == 0)
    }

    @Test func unusedSessionOfAnUnregisteredHandlerIsRemovedWithTheNextRegistry() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        let handler = try Handler.test("com.example.app")
        let router = URLRouter([handler], on: bus)
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .opened("app:x", at: Self.owner))
        let empty = Registry(handlers: [])
        _ = await router.use(RegistrySnapshot(number: 1, registry: empty))
        #expect(await !router.hasNoSession)
        bus.answer("app:x")
        #expect(try await request.value.path == .active)
        bus.setOwner(of: Self.id, to: nil)
        await router.wait { $0.state(of: Self.id) == .notRunning }
        _ = await router.use(RegistrySnapshot(number: 2, registry: empty))
        #expect(await router.hasNoSession)
        #expect(bus.watchedNames.isEmpty)
    }

    @Test func sessionOfARegisteredHandlerStays() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        let handler = try Handler.test("com.example.app")
        let router = URLRouter([handler], on: bus)
        await router.adoptRunning()
        bus.setOwner(of: Self.id, to: nil)
        await router.wait { $0.state(of: Self.id) == .notRunning }
        _ = await router.use(RegistrySnapshot(number: 1, registry: Registry(handlers: [handler])))
        #expect(await !router.hasNoSession)
    }

    @Test func failedLaunchIsNotAnnounced() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let error = await failure { () throws(OpenURLError) in try await router.open("app:x") }
        #expect(error?.code == .launchFailed)
        #expect(bus.count(of: .announced(Self.id, .inactive)) == 0)
        #expect(bus.count(of: .announced(Self.id, .notRunning)) == 0)
    }

    @Test func releasedRouterReleasesItsBus() async throws {
        weak var released: FakeHandlers?
        do {
            let bus = try FakeHandlers([Self.id: Self.owner])
            released = bus
            let router = URLRouter([try .test("com.example.app")], on: bus)
            let request = Task { try await router.open("app:x") }
            await bus.wait(for: .opened("app:x", at: Self.owner))
            bus.answer("app:x")
            #expect(try await request.value.path == .active)
        }
        // The jobs of the request release the router on the loop's thread.
        while released != nil { await Task.yield() }
    }

    /// The kill of a process that the router did not start is an event at once. The watchdog of the end must not start after
    /// that event has ended the state.
    @Test func effectsOfAnEventAreDoneBeforeTheNextEvent() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        var limits = RouterLimits()
        limits.endTimeout = .milliseconds(200)
        // Any process that lasts will do: the first one.
        bus.setProcess(of: Self.owner, to: 1)
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        await router.adoptRunning()
        // The process releases its name and does not end: the watchdog lets go of it.
        bus.setOwner(of: Self.id, to: nil)
        await router.wait { $0.state(of: Self.id) == .notRunning }
        #expect(await router.isEndWatched(Self.id) == false)
    }
}

extension URLRouter {
    fileprivate var hasNoSession: Bool { sessions.isEmpty }

    fileprivate func isEndWatched(_ id: BusName) -> Bool? { sessions[id]?.endTimer.isRunning }
}
