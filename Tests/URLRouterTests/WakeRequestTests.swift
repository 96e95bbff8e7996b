import DBus
import Glibc
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// Requests that wake a handler for something other than a URL.
@Suite(.timeLimit(.minutes(10))) struct WakeRequestTests {
    private static let id: BusName = "com.example.app"
    private static let owner: BusName = ":1.1"

    private var identifier: BundleIdentifier { get throws { try BundleIdentifier("com.example.app") } }

    private var waking: NotificationOptions {
        var options = NotificationOptions()
        options.wakes = true
        return options
    }

    private func context(_ notifications: [String: Value] = [:]) -> WakeContext {
        var context = WakeContext(.known(.message))
        context.notifications = notifications
        return context
    }

    /// Returns a router with a handler whose process waits for its first message.
    private func router(
        limits: RouterLimits = .patient,
        _ change: (inout HandlerManifest) throws -> Void = { _ in }
    ) async throws -> (URLRouter, FakeHandlers) {
        let bus = try FakeHandlers([Self.id: Self.owner])
        bus.setState(of: Self.id, to: .notRunning)
        let router = URLRouter(
            [try .test("com.example.app", change)],
            on: bus,
            limits: limits,
            examine: { _, _, _ in .descends }
        )
        await router.adoptRunning()
        return (router, bus)
    }

    @Test func processThatHasNotLaunchedLaunchesIntoTheBackground() async throws {
        let (router, bus) = try await router()
        bus.hold(FakeHandlers.wake)
        let request = Task { try await router.wake(identifier) }
        await bus.wait(for: .woken(Self.id, context()))
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .inactive))
        bus.setState(of: Self.id, to: .background)
        bus.release(FakeHandlers.wake)
        try await request.value
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .background))
        // It has launched, and has missed nothing.
        try await router.wake(identifier)
        #expect(bus.count(of: .woken(Self.id, context())) == 0)
    }

    /// The bus may have delivered the call for which it made the router start the handler.
    @Test func handlerThatIsInTheForegroundByThenStaysThere() async throws {
        let (router, bus) = try await router()
        bus.hold(FakeHandlers.wake)
        let request = Task { try await router.wake(identifier) }
        await bus.wait(for: .woken(Self.id, context()))
        bus.setState(of: Self.id, to: .active)
        bus.release(FakeHandlers.wake)
        try await request.value
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
    }

    @Test func handlerWithoutTheMethodLaunchesAndIsNotified() async throws {
        let (router, bus) = try await router()
        bus.failWaking(with: .remote(RemoteError(.unknownMethod, "no Wake")))
        try await router.notify(identifier, "battery", "low", waking)
        await bus.wait(for: .woken(Self.id, context(["battery": "low"])))
        await bus.wait(for: .sentToBackground(Self.id))
        await bus.wait(for: .notified(Self.id, ["battery": "low"]))
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .background))
    }

    @Test func invalidAnswerIsComparedWithTheTypeOfWake() async throws {
        let (router, bus) = try await router()
        let problem = "'result' must be of type 's', not 'i'"
        bus.failWaking(with: .unexpectedReply(.invalidValue(problem)))
        let words = "com.example.app answered with something other than 'a{sv}': \(problem)"
        await #expect(throws: OpenURLError(.invalidReply, words)) {
            try await router.notify(identifier, "battery", "low", waking)
        }
    }

    /// The router first finds out whether the process has launched, and a URL does not wait for that.
    @Test func urlThatIsSentBeforeAnEarlierNotificationIsTheFirst() async throws {
        let (router, bus) = try await router()
        bus.hold(Self.id)
        bus.hold(FakeHandlers.wake)
        let notification = Task { try await router.notify(identifier, "battery", "low", waking) }
        await bus.wait(for: .notified(Self.id, [:]))
        var options = OpenOptions()
        options.inBackground = true
        let open = Task { [options] in try await router.open("app:1", options, caller: ownConnection) }
        await bus.wait(for: .opened("app:1", at: Self.owner))
        bus.release(Self.id)
        await bus.wait(for: .woken(Self.id, context(["battery": "low"])))
        #expect(await router.firstInHand(of: Self.id) == "app:1")
        bus.answer("app:1")
        _ = try await open.value
        bus.release(FakeHandlers.wake)
        try await notification.value
    }

    @Test func handlerThatIsAtWorkIsNotSuspended() async throws {
        let (router, bus) = try await router()
        bus.setState(of: Self.id, to: .background)
        try await router.wake(identifier)
        bus.hold(FakeHandlers.wake)
        let request = Task { try await router.notify(identifier, "battery", "low", waking) }
        await bus.wait(for: .woken(Self.id, context(["battery": "low"])))
        let error = await #expect(throws: OpenURLError.self) { try await router.suspend(identifier) }
        let reason = "it is still handling a notification, a push or a task"
        #expect(error?.message == "com.example.app is not suspended: \(reason)")
        bus.release(FakeHandlers.wake)
        try await request.value
    }

    @Test func handlerThatIsOpeningAURLIsNotSuspended() async throws {
        let (router, bus) = try await router()
        bus.setState(of: Self.id, to: .background)
        try await router.wake(identifier)
        var options = OpenOptions()
        options.inBackground = true
        let open = Task { [options] in try await router.open("app:1", options, caller: ownConnection) }
        await bus.wait(for: .opened("app:1", at: Self.owner))
        let error = await #expect(throws: OpenURLError.self) { try await router.suspend(identifier) }
        #expect(error?.message == "com.example.app is not suspended: it is still opening a URL")
        bus.answer("app:1")
        _ = try await open.value
    }

    @Test func latestValuesComeTogether() async throws {
        let bus = try FakeHandlers([:])
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(600)
            $0.transitionTimeout = .seconds(600)
        }
        let router = URLRouter([handler], on: bus)
        // Over the lane, a woken handler gets its requests before it owns its name.
        bus.attach(Self.owner)
        bus.setState(of: Self.id, to: .background)
        let launch = Task { try await router.wake(identifier) }
        await bus.wait(for: .announced(Self.id, .inactive))
        let pid = try #require(await router.status().first?.pid)
        defer { kill(pid_t(pid), SIGKILL) }
        bus.setProcess(of: Self.owner, to: pid)
        bus.setOwner(of: Self.id, to: Self.owner)
        try await launch.value
        try await router.suspend(identifier)
        for (kind, value) in [("battery", "low"), ("locale", "fr")] as [(String, Value)] {
            try await router.notify(identifier, kind, value)
        }
        let request = Task { try await router.notify(identifier, "battery", "full", waking) }
        await bus.wait(for: .woken(Self.id, context(["battery": "full", "locale": "fr"])))
        bus.setOwner(of: Self.id, to: Self.owner)
        try await request.value
    }

    @Test func timeLimitIsAnError() async throws {
        let (router, bus) = try await router()
        bus.failWaking(with: .timedOut)
        let error = await #expect(throws: OpenURLError.self) {
            try await router.notify(identifier, "battery", "low", waking)
        }
        #expect(error == OpenURLError(.timedOut, "Wake of com.example.app did not return within 30 seconds"))
    }

    @Test func handlerThatTakesLongerEnds() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: process.pid])
        bus.setState(of: Self.id, to: .background)
        var limits = RouterLimits.patient
        limits.transitionTimeout = .milliseconds(50)
        let handler = try Handler.test("com.example.app", program: process.program)
        let router = URLRouter([handler], on: bus, limits: limits)
        await router.adoptRunning()
        await router.wait { $0.state(of: Self.id) == .running(owner: Self.owner, .background) }
        bus.failWaking(with: .timedOut)
        bus.setProgress(of: Self.id, to: "didReceiveNotification", .seconds(31))
        // It does not take the notification that shows whether it is still busy.
        bus.hold(Self.id)
        let request = Task { try await router.notify(identifier, "battery", "low", waking) }
        await process.waitForEnd()
        bus.release(Self.id)
        let error = await #expect(throws: OpenURLError.self) { try await request.value }
        #expect(error?.code == .timedOut)
    }

    // MARK: The sender

    @Test func handlerTakesNotificationsOnlyFromItsSenders() async throws {
        let (router, bus) = try await router { $0.allowedSources = [] }
        for options in [NotificationOptions(), waking] {
            let error = await #expect(throws: OpenURLError.self) {
                try await router.notify(identifier, "battery", "low", options)
            }
            #expect(error?.code == .notAllowed)
        }
        #expect(bus.count(of: .woken(Self.id, context(["battery": "low"]))) == 0)
    }

    @Test func onlyTheRouterSendsItsOwnKinds() async throws {
        let (router, bus) = try await router()
        for options in [NotificationOptions(), waking] {
            let error = await #expect(throws: OpenURLError.self) {
                try await router.notify(identifier, PushInterface.endpointKind, "https://example.com/", options)
            }
            #expect(error?.code == .notAllowed)
        }
        #expect(bus.count(of: .woken(Self.id, context([PushInterface.endpointKind: "https://example.com/"]))) == 0)
    }

    @Test func handlerMayNotifyItself() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: process.pid])
        let handler = try Handler.test("com.example.app", program: process.program) { $0.allowedSources = [] }
        let router = URLRouter([handler], on: bus, examine: { _, _, _ in .descends })
        await router.adoptRunning()
        try await router.notify(identifier, "battery", "low", waking, caller: Self.owner)
        await bus.wait(for: .woken(Self.id, context(["battery": "low"])))
    }

    @Test func waitingNotificationsAreCountedToTheirSender() async throws {
        var limits = RouterLimits.patient
        limits.requests = 2
        let (router, bus) = try await router(limits: limits)
        bus.hold(FakeHandlers.wake)
        let first = Task { try await router.notify(identifier, "battery", "low", waking) }
        await bus.wait(for: .woken(Self.id, context(["battery": "low"])))
        let error = await #expect(throws: OpenURLError.self) {
            try await router.notify(identifier, "locale", "fr", waking)
        }
        #expect(error?.code == .limitsExceeded)
        bus.release(FakeHandlers.wake)
        try await first.value
        #expect(await router.hasAnsweredAll)
        try await router.notify(identifier, "locale", "fr", waking)
    }

    @Test func largeValueWakesNothing() async throws {
        let (router, bus) = try await router()
        let value = Value.string(String(repeating: "v", count: 65_536))
        let error = await #expect(throws: OpenURLError.self) {
            try await router.notify(identifier, "battery", value, waking)
        }
        #expect(error?.code == .limitsExceeded)
        #expect(bus.count(of: .woken(Self.id, context(["battery": value]))) == 0)
    }
}

extension URLRouter {
    /// The URL that the process of a handler got first, of those that it has in hand.
    fileprivate func firstInHand(of id: BusName) -> String? { sessions[id]?.requests.firstInHand?.url }
}
