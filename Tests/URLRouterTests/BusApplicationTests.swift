import OpenURLBus
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// Applications that receive URLs through `org.freedesktop.Application.Open`.
@Suite(.timeLimit(.minutes(10))) struct BusApplicationTests {
    private static let name: BusName = "org.example.App"
    private static let id = "org.example.App.desktop"

    /// Returns a router with one application, which takes URLs over the bus.
    private func router(
        _ owners: [BusName: BusName] = [:],
        handlers: [Handler] = [],
        limits: RouterLimits = RouterLimits()
    ) throws -> (URLRouter, FakeHandlers) {
        let desktop = try DesktopFixture()
        try desktop.addEntry("org.example.App", "DBusActivatable=true")
        let bus = try FakeHandlers(owners)
        return (URLRouter(handlers, desktop.applications, on: bus, limits: limits), bus)
    }

    private func open(_ options: OpenOptions = OpenOptions(), on router: URLRouter) async -> OpenURLError? {
        await failure { () throws(OpenURLError) in try await router.open("app:x", options, caller: ownConnection) }
    }

    // MARK: Running or not

    @Test func runningApplicationGetsTheURLAndIsNotStarted() async throws {
        let (router, bus) = try router([Self.name: ":1.1"])
        let request = Task { try await router.open("app:x", OpenOptions(), caller: nil) }
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        bus.answer("app:x")
        let result = try await request.value
        #expect(result.handler == Self.id)
        #expect(result.way == .active)
        #expect(result.reply == [:])
        #expect(result.trace.map(\.name) == ["open"])
        #expect(bus.count(of: .started(Self.name)) == 0)
        // The router calls only `Open` of the desktop's interface.
        #expect(bus.platformData(of: "app:x") == [:])
        #expect(bus.context(of: "app:x") == nil)
        #expect(bus.count(of: .activated(Self.name, at: ":1.1")) == 0)
    }

    @Test func stoppedApplicationIsStartedFirst() async throws {
        let (router, bus) = try router()
        bus.setService(Self.name, .success(":1.2"))
        let request = Task { try await router.open("app:x", OpenOptions(), caller: nil) }
        await bus.wait(for: .opened("app:x", at: ":1.2"))
        bus.answer("app:x")
        let result = try await request.value
        #expect(result.way == .launched)
        #expect(result.trace.map(\.name) == ["ready", "open"])
        #expect(bus.count(of: .started(Self.name)) == 1)
        #expect(bus.patience(for: Self.name) == RouterLimits().launchTimeout)
    }

    // MARK: Cancelling

    private func cancellable(on router: URLRouter) -> Task<OpenResult, any Error> {
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "t")
        let calls = CancelledCalls()
        let task = Task { [options] in
            try await router.openURL("app:x", options, caller: ownConnection, abandon: { calls.cancel() })
        }
        calls.set(task)
        return task
    }

    private func cancel(on router: URLRouter) async throws {
        try await router.cancelRequest(at: "/org/openurl/Router1/request/1_77/t", caller: ownConnection)
    }

    @Test func cancelledURLDoesNotReachAnApplicationThatIsLookedFor() async throws {
        let (router, bus) = try router([Self.name: ":1.1"])
        bus.hold(Self.name)
        let request = cancellable(on: router)
        await bus.wait(for: .askedForOwner(Self.name))
        try await cancel(on: router)
        bus.release(Self.name)
        await #expect(throws: OpenURLError.withdrawn) { try await request.value }
        #expect(bus.opened.isEmpty)
    }

    @Test func callerOfACancelledURLLearnsThatAnApplicationHasIt() async throws {
        let (router, bus) = try router([Self.name: ":1.1"])
        let request = cancellable(on: router)
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        try await cancel(on: router)
        let message = "the request was cancelled; org.example.App.desktop has the URL and may still open it"
        await #expect(throws: OpenURLError(.cancelled, message)) { try await request.value }
    }

    @Test func onlyHandlersAreActivated() async throws {
        let owners: [BusName: BusName] = [Self.name: ":1.1", "com.example.handler": ":1.2"]
        let (router, bus) = try router(owners, handlers: [try .test("com.example.handler")])
        try await router.activate(try BundleIdentifier("com.example.handler"), caller: ownConnection)
        #expect(bus.count(of: .activated("com.example.handler", at: ":1.2")) == 1)
        #expect(bus.opened == [])
        for id in ["org.example.App", Self.id] {
            await #expect {
                try await router.activate(try BundleIdentifier(id), caller: ownConnection)
            } throws: { error in
                (error as? OpenURLError)?.code == .noHandler
            }
        }
        #expect(bus.count(of: .activated(Self.name, at: ":1.1")) == 0)
    }

    // MARK: Contents of the call

    @Test(arguments: [nil, "token"], [nil, "startup"])
    func desktopTokensAreThePlatformData(token: String?, startup: String?) async throws {
        let (router, bus) = try router([Self.name: ":1.1"])
        var options = OpenOptions()
        options.activationToken = token
        options.desktopStartupID = startup
        // These options are for handlers only.
        options.annotation = "note"
        let request = Task { [options] in try await router.open("app:x", options, caller: nil) }
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        bus.answer("app:x")
        _ = try await request.value
        // If there is only one of them, it serves as both.
        var expected: [String: Value] = [:]
        expected["activation-token"] = (token ?? startup).map(Value.string)
        expected["desktop-startup-id"] = (startup ?? token).map(Value.string)
        #expect(bus.platformData(of: "app:x") == expected)
        let back = FreedesktopApplication.options(expected)
        #expect(back.activationToken == token ?? startup)
        #expect(back.desktopStartupID == startup ?? token)
    }

    // MARK: Starting

    @Test func launchWatchdogGivesUpAnApplicationWithoutItsName() async throws {
        var limits = RouterLimits()
        limits.launchTimeout = .milliseconds(50)
        let (router, bus) = try router(limits: limits)
        bus.setService(Self.name, .failure(.timedOut))
        let error = OpenURLError(
            .timedOut,
            "\(Self.id) did not take its name on the bus within 0.05 seconds of its start"
        )
        #expect(await open(on: router) == error)
        #expect(bus.patience(for: Self.name) == .milliseconds(50))
        #expect(bus.opened == [])
    }

    @Test func shorterTimeLimitOfTheSenderApplies() async throws {
        let (router, bus) = try router()
        bus.setService(Self.name, .failure(.timedOut))
        var options = OpenOptions()
        options.timeout = .seconds(4)
        #expect(await open(options, on: router)?.code == .timedOut)
        #expect(try #require(bus.patience(for: Self.name)) <= .seconds(4))
    }

    @Test(arguments: [[:], [name: ":1.1"]] as [[BusName: BusName]])
    func expiredTimeLimitStartsAndSendsNothing(owners: [BusName: BusName]) async throws {
        let (router, bus) = try router(owners)
        bus.setService(Self.name, .success(":1.2"))
        var options = OpenOptions()
        options.timeout = .zero
        let error = OpenURLError(.timedOut, "\(Self.id) was not ready within 0 seconds; it did not get the URL")
        #expect(await open(options, on: router) == error)
        #expect(bus.count(of: .started(Self.name)) == 0)
        #expect(bus.opened == [])
    }

    @Test(arguments: [
        (
            CallError.fromBus(.serviceUnknown),
            "\(id) has DBusActivatable=true, but no D-Bus service file is called org.example.App"
        ),
        (
            .fromBus("org.freedesktop.DBus.Error.Spawn.ChildExited", "status 1"),
            "\(id) cannot be started: org.freedesktop.DBus.Error.Spawn.ChildExited: status 1"
        ),
        (.disconnected, "\(id) cannot be started: the connection to the bus has ended"),
        (.cancelled, "\(id) cannot be started: the call was cancelled"),
    ])
    func failedStartHasAReason(error: CallError, message: String) async throws {
        let (router, bus) = try router()
        bus.setService(Self.name, .failure(error))
        #expect(await open(on: router) == OpenURLError(.launchFailed, message))
        #expect(bus.opened == [])
    }

    @Test func applicationThatReleasesItsNameAtOnceHasNotReceivedTheURL() async throws {
        let (router, bus) = try router()
        bus.setService(Self.name, .success(nil))
        let error = OpenURLError(.launchFailed, "\(Self.id) released its name before it got the URL")
        #expect(await open(on: router) == error)
        #expect(bus.count(of: .started(Self.name)) == 1)
    }

    @Test func failedOwnerLookupIsReported() async throws {
        let (router, bus) = try router()
        bus.setLookup(Self.name, failsWith: .disconnected)
        let message = "the bus did not say whether \(Self.id) is running: the connection to the bus has ended"
        #expect(await open(on: router) == OpenURLError(.launchFailed, message))
        #expect(bus.count(of: .started(Self.name)) == 0)
    }

    // MARK: Answers

    private static let lacksOpen = OpenURLError(
        .launchFailed,
        "\(id) has DBusActivatable=true, but lacks org.freedesktop.Application.Open"
    )
    private static let isGone = OpenURLError(.launchFailed, "\(id) exited before it got the URL")
    @Test(arguments: [
        (
            CallError.fromBus(.noReply),
            OpenURLError(.handlerCrashed, "\(id) exited before it answered; it may have acted on the URL")
        ),
        (.fromBus(.serviceUnknown), isGone),
        (.fromBus(.nameHasNoOwner), isGone),
        (.named(.unknownMethod), lacksOpen),
        (.named(.unknownObject), lacksOpen),
        (.named(.unknownInterface), lacksOpen),
        (
            .fromBus(.limitsExceeded),
            OpenURLError(
                .limitsExceeded,
                "the bus refused to pass the URL to \(id): org.freedesktop.DBus.Error.LimitsExceeded: told"
            )
        ),
        (
            .fromBus("org.freedesktop.DBus.Error.AccessDenied"),
            OpenURLError(
                .launchFailed,
                "the bus refused to pass the URL to \(id): org.freedesktop.DBus.Error.AccessDenied: told"
            )
        ),
        (.named(.notSupported), OpenURLError(.declined, "\(id) takes no URLs: told")),
        // An application may use the bus's error names in its own answers.
        (.named(.noReply, "of mine"), OpenURLError(.declined, "\(id) declined the URL: of mine")),
        (.named(.serviceUnknown, "of mine"), OpenURLError(.declined, "\(id) declined the URL: of mine")),
        (.named(.limitsExceeded, "of mine"), OpenURLError(.declined, "\(id) declined the URL: of mine")),
        // An application may not answer with the router's own errors.
        (.named("org.openurl.Error.NotAllowed", "of mine"), OpenURLError(.declined, "\(id) declined the URL: of mine")),
        (
            .named("com.example.Error.Full", ""),
            OpenURLError(.declined, "\(id) declined the URL: com.example.Error.Full")
        ),
        (.timedOut, OpenURLError(.timedOut, "\(id) did not answer within 20 seconds")),
        (
            .notSent(.tooLarge(limit: 9)),
            OpenURLError(
                .limitsExceeded,
                "the URL cannot be passed to \(id): \(MessageEncodingError.tooLarge(limit: 9))"
            )
        ),
        (.cancelled, OpenURLError(.timedOut, "opening the URL with \(id) was cancelled")),
        (.disconnected, OpenURLError(.handlerCrashed, "the bus connection was lost before \(id) answered")),
    ])
    func eachCallErrorHasOneOutcome(error: CallError, expected: OpenURLError) async throws {
        let (router, bus) = try router([Self.name: ":1.1"])
        let request = Task { await open(on: router) }
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        bus.answer("app:x", .failure(error))
        #expect(await request.value == expected)
    }

    @Test func returnedValueIsIgnored() async throws {
        let (router, bus) = try router([Self.name: ":1.1"])
        let request = Task { try await router.open("app:x", OpenOptions(), caller: nil) }
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        bus.answer("app:x", .failure(.unexpectedReply(.wrongType(expected: "", found: "s"))))
        #expect(try await request.value.way == .active)
    }

    // MARK: Choice of the application

    @Test func systemSchemeGoesToTheDesktopsApplication() async throws {
        let desktop = try DesktopFixture()
        try desktop.addEntry("org.example.Web", "DBusActivatable=true")
        let bus = try FakeHandlers(["org.example.Web": ":1.1"])
        let system: [Handler] = [
            try .test("org.openurl.system.web", program: nil, scheme: "web", scope: .system) { $0.isFixed = true }
        ]
        let router = URLRouter(system, desktop.applications, on: bus)
        let request = Task { try await router.open("web:x", OpenOptions(), caller: nil) }
        await bus.wait(for: .opened("web:x", at: ":1.1"))
        bus.answer("web:x")
        #expect(try await request.value.handler == "org.example.Web.desktop")
    }
}
