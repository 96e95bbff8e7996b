import DBus
import SchemeRegistry
import Testing

@testable import URLRouter

/// The router makes the bus read the service files that the bus has not noticed.
@Suite(.timeLimit(.minutes(10))) struct ActivatableServiceTests {
    private static let id: BusName = "com.example.app"

    private func reload(_ handlers: [Handler], number: Int, in router: URLRouter) async {
        _ = await router.use(RegistrySnapshot(number: number, registry: Registry(handlers: handlers)))
        await router.makeServicesActivatable()
    }

    @Test func busReadsItsConfigurationAgainForAnUnknownService() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        await router.makeServicesActivatable()
        #expect(bus.count(of: .reloadedConfiguration) == 1)
    }

    @Test func busThatKnowsAllServicesIsLeftAlone() async throws {
        let bus = try FakeHandlers([:])
        bus.setService(Self.id, .success(":1.5"))
        // A system handler has no service.
        let router = URLRouter([try .test("com.example.app"), try .test("com.example.none", program: nil)], on: bus)
        await router.makeServicesActivatable()
        #expect(bus.count(of: .askedForActivatableNames) == 1)
        #expect(bus.count(of: .reloadedConfiguration) == 0)
    }

    @Test func busIsAskedOnceForEachService() async throws {
        let bus = try FakeHandlers([:])
        let app = try Handler.test("com.example.app")
        let other = try Handler.test("com.example.other")
        let router = URLRouter([app], on: bus)
        await router.makeServicesActivatable()
        await router.makeServicesActivatable()
        #expect(bus.count(of: .askedForActivatableNames) == 1)
        await reload([app, other], number: 1, in: router)
        #expect(bus.count(of: .reloadedConfiguration) == 2)
        // The service of a handler that returns is a new service.
        await reload([app], number: 2, in: router)
        #expect(bus.count(of: .askedForActivatableNames) == 2)
        await reload([app, other], number: 3, in: router)
        #expect(bus.count(of: .reloadedConfiguration) == 3)
    }

    @Test func failureIsLogged() async throws {
        let bus = try FakeHandlers([:])
        bus.failReloads(with: .timedOut)
        let log = RecordedLog()
        let router = URLRouter([try .test("com.example.app")], on: bus, log: log.logger)
        await router.makeServicesActivatable()
        #expect(log.lines.contains { $0.contains("the bus could not read its service files again") })
    }
}
