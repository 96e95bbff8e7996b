import DBus
import Logging
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// The handlers' own notifications.
@Suite(.timeLimit(.minutes(10))) struct LocalNotificationTests {
    private static let handler: BusName = "com.example.app"
    private static let owner: BusName = ":1.1"
    private let directory = TemporaryState()
    private let log = RecordedLog()
    private let desktop = FakeDesktop()

    private func handlers() throws -> [Handler] {
        let other = try Handler.test("com.example.other")
        return [try .test("com.example.app") { $0.allowedSources = [] }, other]
    }

    private func router(on bus: FakeHandlers, _ desktop: FakeDesktop? = nil) async throws -> URLRouter {
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let router = URLRouter(
            try handlers(),
            on: bus,
            deliveries: store,
            reminders: desktop ?? self.desktop,
            log: log.logger
        )
        await router.startDeliveries()
        return router
    }

    private func bus() throws -> FakeHandlers { try FakeHandlers([Self.handler: Self.owner]) }

    private func notification(_ text: String, _ change: (inout LocalNotification) -> Void = { _ in })
        -> LocalNotification
    {
        var notification = LocalNotification(text)
        change(&notification)
        return notification
    }

    private func notification(_ text: String, year: Int) throws -> LocalNotification {
        LocalNotification(text, at: .wallClock(try wall("\(year)-01-01T09:00:00")))
    }

    /// Returns the context in which the handler gets a notification.
    private func context(_ notification: LocalNotification) -> WakeContext {
        var context = WakeContext(.known(.notification))
        context.localNotification = notification
        return context
    }

    /// Waits until the desktop has shown so many notifications.
    private func wait(for count: Int, _ router: URLRouter) async {
        await router.wait { [desktop] _ in desktop.shown.count == count }
    }

    // MARK: When it is due

    @Test func notificationIsShownAndLeavesTheQueue() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        try await router.schedule(notification("Tea") { $0.title = "Kitchen" })
        try await router.schedule(notification("Milk"))
        await wait(for: 2, router)
        #expect(desktop.shown.map(\.text) == ["Tea", "Milk"])
        #expect(desktop.shown.map(\.title) == ["Kitchen", "com.example.app"])
        #expect(desktop.shown.map(\.account) == ["the handler com.example.app", "the handler com.example.app"])
        #expect(bus.opened == [])
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func activeHandlerGetsItQuietly() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        try await activate(router)
        let tea = notification("Tea") {
            $0.identifier = "tea"
            $0.userInfo = ["cups": .int32(2)]
        }
        try await router.schedule(tea)
        await bus.wait(for: .woken(Self.handler, context(tea)))
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        #expect(desktop.shown == [])
    }

    private func activate(_ router: URLRouter) async throws {
        let id = try BundleIdentifier("com.example.app")
        try await router.activate(id, caller: ownConnection)
        #expect(await router.state(ofHandler: id) == .active)
    }

    @Test func activeHandlerThatDoesNotTakeItDoesNotHideIt() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        try await activate(router)
        bus.failWaking(with: .remote(RemoteError(.unknownMethod, "no Wake")))
        try await router.schedule(notification("Tea"))
        await wait(for: 1, router)
        await router.stopDeliveries()
    }

    @Test func interruptedHandlerIsNotActive() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        try await activate(router)
        await router.lockScreen()
        await bus.wait(for: .interrupted(Self.handler))
        try await router.schedule(notification("Tea"))
        await wait(for: 1, router)
        await router.stopDeliveries()
    }

    @Test func notificationThatCannotBeShownIsTriedAgain() async throws {
        let bus = try bus()
        let failing = FakeDesktop(failing: [OpenURLError(.launchFailed, "no service")])
        let router = try await router(on: bus, failing)
        try await router.schedule(notification("Tea"))
        await router.wait { _ in failing.shown.count == 1 }
        #expect(log.lines.contains { $0.hasSuffix("a queued URL was not delivered: no service") })
        await router.stopDeliveries()
    }

    // MARK: The click

    @Test func clickBringsTheHandlerToTheForegroundWithTheNotification() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        let tea = notification("Tea") {
            $0.identifier = "tea"
            $0.userInfo = ["cups": .int32(2)]
        }
        try await router.schedule(tea)
        await wait(for: 1, router)
        await desktop.click(0, "token", in: router)
        await bus.wait(for: .activated(Self.handler, at: Self.owner))
        let data = try #require(bus.platformData(of: Self.handler.rawValue))
        #expect(data["activation-token"] == "token")
        #expect(try FreedesktopApplication.notification(data) == tea.clicked())
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func clickOpensTheURLWithTheNotification() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        // The handler takes URLs from no other sender.
        let tea = notification("Tea") {
            $0.identifier = "tea"
            $0.url = "app:tea"
        }
        try await router.schedule(tea)
        await wait(for: 1, router)
        await desktop.click(0, "token", in: router)
        await bus.wait(for: .opened("app:tea", at: Self.owner))
        let context = try #require(bus.context(of: "app:tea"))
        #expect(context.localNotification == tea.clicked())
        #expect(context.activationToken == "token")
        #expect(context.sourceApplication == "com.example.app")
        bus.answer("app:tea")
        await router.stopDeliveries()
    }

    @Test func otherHandlerGetsTheURLOnly() async throws {
        let bus = try FakeHandlers([Self.handler: Self.owner, "com.example.other": ":1.2"])
        let router = try await router(on: bus)
        try await router.schedule(notification("Tea") { $0.url = "other:tea" })
        await wait(for: 1, router)
        await desktop.click(0, nil, in: router)
        await bus.wait(for: .opened("other:tea", at: ":1.2"))
        let context = try #require(bus.context(of: "other:tea"))
        #expect(context.localNotification == nil)
        #expect(context.sourceApplication == "com.example.app")
        bus.answer("other:tea")
        await router.stopDeliveries()
    }

    @Test func clickAfterTheEndIsLogged() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        try await router.schedule(notification("Tea"))
        await wait(for: 1, router)
        await router.stopDeliveries()
        await desktop.click(0, nil, in: router)
        await router.wait { _ in log.lines.contains { $0.contains("the click on a notification was lost") } }
    }

    // MARK: Removal

    @Test func cancelledNotificationLeavesTheScreenAndItsClickOpensNothing() async throws {
        let bus = try bus()
        let router = try await router(on: bus)
        try await router.schedule(notification("Tea") { $0.identifier = "tea" })
        try await router.schedule(notification("Milk") { $0.identifier = "milk" })
        await wait(for: 2, router)
        try await router.cancelNotification("tea")
        #expect(desktop.closed == [0])
        try await router.cancelNotification(nil)
        #expect(desktop.closed == [0, 1])
        for index in [0, 1] { await desktop.click(index, nil, in: router) }
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        await router.stopDeliveries()
    }

    @Test func scheduledNotificationCanBeCancelledOrDropped() async throws {
        let router = try await router(on: try bus())
        for (number, year) in [2091, 2090, 2092].enumerated() {
            var notification = try notification("\(year)", year: year)
            notification.identifier = "n\(number)"
            try await router.schedule(notification)
        }
        try await router.schedule(try notification("other", year: 2090), of: "com.example.other")
        let all = try await router.notifications()
        #expect(all.map(\.text) == ["2090", "other", "2091", "2092"])
        #expect(all.map(\.handler) == ["app", "other", "app", "app"].map { "com.example.\($0)" })
        #expect(all.allSatisfy { $0.next ?? 0 > 3_700_000_000 })
        try await router.cancelNotification("n0")
        #expect(try await router.notifications(of: "com.example.app").map(\.text) == ["2090", "2092"])
        let queued = try await router.queuedURLs(caller: ownConnection)
        #expect(queued.map(\.url).prefix(2) == ["local-notification:n1", "local-notification:n2"])
        try await router.dropQueued(queued[0].id, caller: ownConnection)
        #expect(try await router.notifications(of: "com.example.app").map(\.text) == ["2092"])
        try await router.cancelNotification("unknown")
        try await router.cancelNotification(nil)
        #expect(try await router.notifications().map(\.text) == ["other"])
        await router.stopDeliveries()
    }

    @Test func sameIdentifierReplaces() async throws {
        let router = try await router(on: try bus())
        for (text, year) in [("first", 2090), ("second", 2091)] {
            var notification = try notification(text, year: year)
            notification.identifier = "tea"
            #expect(try await router.schedule(notification) == "tea")
        }
        #expect(try await router.notifications().map(\.text) == ["second"])
        // On the screen too.
        for text in ["third", "fourth"] {
            try await router.schedule(notification(text) { $0.identifier = "tea" })
        }
        await router.wait { [desktop] _ in desktop.shown.last?.text == "fourth" }
        #expect(desktop.closed.isEmpty == (desktop.shown.count == 1))
        await router.stopDeliveries()
    }

    @Test func routerNamesNotificationsWithoutAName() async throws {
        let router = try await router(on: try bus())
        let names = try await [
            router.schedule(try notification("a", year: 2090)), router.schedule(try notification("b", year: 2091)),
        ]
        #expect(Set(names).count == 2)
        #expect(try await router.notifications().map(\.identifier) == names)
        try await router.cancelNotification(names[0])
        #expect(try await router.notifications().map(\.text) == ["b"])
        await router.stopDeliveries()
    }

    @Test func soonestOfAHandlerStay() async throws {
        let router = try await router(on: try bus())
        let limit = NotificationsInterface.notificationsPerHandler
        for number in 0..<limit { try await router.schedule(try notification("\(number)", year: 2100 + number)) }
        try await router.schedule(try notification("other", year: 2999), of: "com.example.other")
        let error = try await #require(throws: OpenURLError.self) {
            try await router.schedule(try notification("last", year: 2999))
        }
        #expect(error.code == .limitsExceeded)
        #expect(error.message.contains("already has 128 notifications that come sooner"), "\(error)")
        try await router.schedule(try notification("first", year: 2099))
        var texts = ["first"] + (0..<limit - 1).map { "\($0)" }
        #expect(try await router.notifications(of: "com.example.app").map(\.text) == texts)
        // A repetition of a name needs no room.
        var again = try notification("again", year: 2998)
        again.identifier = try #require(try await router.notifications(of: "com.example.app").first?.identifier)
        try await router.schedule(again)
        texts = Array(texts.dropFirst()) + ["again"]
        #expect(try await router.notifications(of: "com.example.app").map(\.text) == texts)
        #expect(try await router.notifications(of: "com.example.other").map(\.text) == ["other"])
        await router.stopDeliveries()
    }

    @Test func nextRouterKnowsTheNotifications() async throws {
        let first = try await router(on: try bus())
        let tea = try notification("Tea", year: 2090)
        let name = try await first.schedule(tea)
        await first.stopDeliveries()
        let next = try await router(on: try bus())
        let listed = try #require(try await next.notifications().first)
        #expect(listed.scheduled(as: name) == tea.scheduled(as: name))
        await next.stopDeliveries()
    }

    @Test func timeThatTheClockSkipsIsAfterTheGap() async throws {
        // Summer begins at 2 o'clock.
        let zone = TimeZoneRules.changing(from: 1, [(3_794_173_200, 2)])
        let store = DeliveryStore(path: directory.queue, zone: { zone }, on: directory.loop, log: log.logger)
        let router = URLRouter(try handlers(), on: try bus(), deliveries: store, reminders: desktop)
        try await router.schedule(LocalNotification("Tea", at: .wallClock(try wall("2090-03-26T02:30:00"))))
        #expect(try await router.notifications().map(\.next) == [3_794_173_200])
    }

    @Test func notificationOfAHandlerThatIsGoneIsDead() async throws {
        let bus = try bus()
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let router = URLRouter(try handlers(), on: bus, deliveries: store, reminders: desktop)
        try await router.schedule(notification("Tea"))
        let id = try #require(try await router.queuedURLs(caller: ownConnection).first?.id)
        // An earlier router has made all attempts but the last.
        for _ in 1..<RetryDelay.attempts { _ = try await store.begin(try #require(Int64(id))) }
        _ = await router.use(RegistrySnapshot(number: 1, registry: Registry(handlers: [])))
        await router.startDeliveries()
        await bus.wait(for: .announcedQueued(id, .dead))
        #expect(desktop.shown == [])
        #expect(try await router.notifications() == [])
        await router.stopDeliveries()
    }

    // MARK: Refusals

    @Test func programInASandboxIsNamedAndLearnsNothing() async throws {
        let process = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { process.end() }
        try await process.waitUntilItRuns()
        let sandbox: BusName = ":1.82"
        let bus = try FakeHandlers([Self.handler: Self.owner], processes: [sandbox: process.pid])
        let router = try await router(on: bus)
        for url in ["none:x", "app:x"] {
            let error = await #expect(throws: OpenURLError.self) {
                try await router.schedule(notification("Tea") { $0.url = url }, caller: sandbox)
            }
            #expect(error == OpenURLError(.noHandler, "no handler that this program can reach claims the URL"))
        }
        try await router.schedule(notification("Tea"), caller: sandbox)
        await wait(for: 1, router)
        #expect(desktop.shown.map(\.text) == ["(from a program without a name)\nTea"])
        #expect(desktop.shown.map(\.account) == ["sandboxes without an identifier"])
        await router.stopDeliveries()
    }

    @Test func notificationThatCannotWorkIsRefused() async throws {
        let bus = try FakeHandlers([:])
        let command = try Handler.test("com.example.command", program: nil)
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let router = URLRouter(try handlers() + [command], on: bus, deliveries: store, reminders: desktop)
        let cases: [(LocalNotification, String, OpenURLError.Code, String)] = [
            (notification("a"), "com.example.unknown", .noHandler, "com.example.unknown"),
            (notification("a"), "com.example.command", .notAllowed, "give the notification a URL"),
            (notification("a") { $0.url = "none:x" }, "com.example.app", .noHandler, "none"),
            (notification("a") { $0.url = "no url" }, "com.example.app", .malformedURL, ""),
            (LocalNotification("a", at: .instant(milliseconds: 0)), "com.example.app", .notQueued, "has passed"),
        ]
        for (notification, id, code, text) in cases {
            let error = try await #require(throws: OpenURLError.self) {
                try await router.schedule(notification, of: id)
            }
            #expect(error.code == code && error.message.contains(text), "\(error)")
        }
        #expect(try await router.notifications() == [])
    }

    @Test func withoutAQueueThereIsNone() async throws {
        let router = URLRouter(try handlers(), on: try bus(), reminders: desktop)
        let error = await #expect(throws: OpenURLError.self) { try await router.schedule(notification("a")) }
        #expect(error?.code == .notQueued)
        #expect(try await router.notifications() == [])
        try await router.cancelNotification(nil)
    }

    /// A notification is no way around the rules for its URL.
    @Test func urlThatMayNotBeOpenedIsRefused() async throws {
        let bus = try bus()
        let closed = try Handler.test("com.example.other") { $0.allowedSources = [] }
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let strict = URLRouter([try .test("com.example.app"), closed], on: bus, deliveries: store, reminders: desktop)
        let error = await #expect(throws: OpenURLError.self) {
            try await strict.schedule(notification("a") { $0.url = "other:x" })
        }
        #expect(error?.code == .notAllowed)
    }
}
