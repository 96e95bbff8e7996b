import DBus
import Logging
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// Notifications about URLs in the queue.
@Suite(.timeLimit(.minutes(10))) struct ReminderTests {
    private let handler: BusName = "com.example.app"
    private let owner: BusName = ":1.1"
    private let directory = TemporaryState()
    private let log = RecordedLog()

    private func router(on bus: FakeHandlers, _ desktop: FakeDesktop) throws -> URLRouter {
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        return URLRouter(
            [try .test("com.example.app")],
            on: bus,
            deliveries: store,
            reminders: desktop,
            log: log.logger
        )
    }

    private func options(_ text: String, _ time: DeliveryTime? = nil, every: RepeatInterval? = nil) -> OpenOptions {
        var options = OpenOptions()
        options.notification = text
        options.deliveryTime = time
        options.repeatInterval = every
        return options
    }

    @Test func clickQueuesTheURLWithItsToken() async throws {
        let bus = try FakeHandlers([handler: owner])
        let desktop = FakeDesktop()
        let router = try router(on: bus, desktop)
        await router.startDeliveries()
        var options = options("text")
        (options.activationToken, options.desktopStartupID) = ("sender's", "sender's too")
        let id = try #require(try await router.open("app:1", options, caller: ownConnection).id)
        await bus.wait(for: .announcedQueued(id, .delivered))
        #expect(desktop.shown.map(\.text) == ["text"])
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        #expect(bus.opened == [])
        await desktop.click(0, "token", in: router)
        await bus.wait(for: .opened("app:1", at: owner))
        let context = try #require(bus.context(of: "app:1"))
        #expect([context.activationToken, context.desktopStartupID] == ["token", "token"])
        let entry = try #require(try await router.queuedURLs(caller: ownConnection).first)
        #expect(entry.id != id && entry.notification == nil)
        bus.answer("app:1")
        await bus.wait(for: .announcedQueued(entry.id, .delivered))
        await router.stopDeliveries()
    }

    @Test func waitForAReminderEndsWhenItIsShown() async throws {
        let bus = try FakeHandlers([handler: owner, ownConnection: ownConnection])
        let router = try router(on: bus, FakeDesktop())
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", options("text"), caller: ownConnection).id)
        let number = try #require(UInt64(id))
        #expect(try await router.outcome(ofQueued: number, caller: ownConnection).way == .notified)
        await router.stopDeliveries()
    }

    @Test func reminderThatCannotBeShownIsTriedAgain() async throws {
        let bus = try FakeHandlers([handler: owner])
        let desktop = FakeDesktop(failing: [OpenURLError(.launchFailed, "no service")])
        let router = try router(on: bus, desktop)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", options("text"), caller: ownConnection).id)
        await bus.wait(for: .announcedQueued(id, .waiting))
        #expect(log.lines.contains { $0.hasSuffix("a queued URL was not delivered: no service") })
        await bus.wait(for: .announcedQueued(id, .delivered))
        #expect(desktop.shown.count == 1)
        await router.stopDeliveries()
    }

    @Test func eachClickOnARepeatedReminderIsARequestOfItsOwn() async throws {
        let bus = try FakeHandlers([handler: owner])
        let desktop = FakeDesktop()
        let router = try router(on: bus, desktop)
        await router.startDeliveries()
        var options = options("text", .wallClock(try wall("2090-01-01T09:00:00")), every: .day)
        options.requestID = RequestID(rawValue: "plants")
        let id = try #require(try await router.open("app:1", options, caller: ownConnection).id)
        try await router.retryQueued(id, caller: ownConnection)
        await bus.wait(for: .announcedQueued(id, .delivered))
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.id) == [id])
        await desktop.click(0, nil, in: router)
        await bus.wait(for: .opened("app:1", at: owner))
        #expect(bus.context(of: "app:1")?.requestID == "plants.0")
        bus.answer("app:1")
        await router.stopDeliveries()
    }

    @Test func removedReminderLeavesTheScreenAndOpensNothing() async throws {
        let bus = try FakeHandlers([handler: owner])
        let desktop = FakeDesktop()
        let router = try router(on: bus, desktop)
        await router.startDeliveries()
        let options = options("text", .wallClock(try wall("2090-01-01T09:00:00")), every: .day)
        let id = try #require(try await router.open("app:1", options, caller: ownConnection).id)
        try await router.retryQueued(id, caller: ownConnection)
        await bus.wait(for: .announcedQueued(id, .delivered))
        #expect(desktop.closed == [])
        // The next one takes its place.
        try await router.retryQueued(id, caller: ownConnection)
        await router.wait { _ in desktop.shown.count == 2 }
        #expect(desktop.closed == [0])
        try await router.dropQueued(id, caller: ownConnection)
        await router.wait { _ in desktop.closed == [0, 1] }
        for index in [0, 1] { await desktop.click(index, nil, in: router) }
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        await router.stopDeliveries()
    }

    /// A reminder is no way around the rules for the URL's sender.
    @Test func reminderThatItsHandlerRefusesIsNotShown() async throws {
        let bus = try FakeHandlers([handler: owner])
        let desktop = FakeDesktop()
        let router = try router(on: bus, desktop)
        let id = try #require(try await router.open("app:1", options("text"), caller: ownConnection).id)
        let closed = try Handler.test("com.example.app") { $0.allowedSources = [] }
        _ = await router.use(RegistrySnapshot(number: 1, registry: Registry(handlers: [closed])))
        await router.startDeliveries()
        await bus.wait(for: .announcedQueued(id, .dead))
        #expect(desktop.shown == [])
        await router.stopDeliveries()
    }

    @Test func clickAfterTheEndIsLogged() async throws {
        let bus = try FakeHandlers([handler: owner])
        let desktop = FakeDesktop()
        let router = try router(on: bus, desktop)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", options("text"), caller: ownConnection).id)
        await bus.wait(for: .announcedQueued(id, .delivered))
        await router.stopDeliveries()
        await desktop.click(0, nil, in: router)
        await router.wait { _ in log.lines.contains { $0.contains("the click on its notification was lost") } }
    }

    // MARK: Text

    private func reminder(_ text: String, from source: OpenContext.Source, handler name: String? = nil) -> Reminder {
        var options = OpenOptions()
        options.notification = text
        var context = OpenContext()
        context.source = source
        let delivery = Delivery(url: "app:1", handler: "com.example.app", options: options, context: context)
        return Reminder(delivery, handler: name)
    }

    private func source(_ callerClass: CallerClass, _ application: String? = nil) -> OpenContext.Source {
        var source = OpenContext.Source()
        source.callerClass = .known(callerClass)
        source.application = application
        return source
    }

    @Test func textCannotMislead() throws {
        let hostile = "Tea\u{1B}[2J\u{202E}\r\nnext"
        let reminder = self.reminder(hostile, from: source(.user), handler: "To\u{202E}do")
        #expect(reminder.title == "To\\u{202E}do")
        #expect(reminder.text == "Tea\\u{1B}[2J\\u{202E}\nnext")
        let long = self.reminder("a", from: source(.user), handler: String(repeating: "x", count: 200))
        #expect(long.title.count == 80)
        #expect(self.reminder("Müll", from: source(.user)).text == "Müll")
        #expect(self.reminder("a", from: source(.user)).title == "com.example.app")
    }

    @Test func titleOfANotificationCannotMislead() {
        var notification = LocalNotification("a")
        notification.title = "To\u{202E}\ndo" + String(repeating: "x", count: 200)
        var context = OpenContext()
        context.localNotification = notification
        let delivery = Delivery(url: "x", handler: "com.example.app", options: OpenOptions(), context: context)
        let title = Reminder(delivery, handler: "App").title
        #expect(title.hasPrefix("To\\u{202E}\\ndo") && title.count == 80, "\(title)")
    }

    @Test func senderThatIsNotTheUserIsNamed() {
        #expect(reminder("a", from: source(.handler, "com.example.app")).text == "a")
        #expect(reminder("a", from: source(.handler, "com.example.other")).text == "(from com.example.other)\na")
        #expect(reminder("a", from: source(.sandboxed, "org.<b>")).text == "(from org.<b>)\na")
        #expect(reminder("a", from: source(.sandboxed)).text == "(from a program without a name)\na")
        #expect(reminder("a", from: source(.unknown)).text == "(from a program without a name)\na")
    }

    /// Only a part of a long text is on the screen.
    @Test func textDoesNotHideTheSender() {
        let text = "Sign in.\n(from org.gnome.Settings)" + String(repeating: "\r\n", count: 300)
        let shown = reminder(text, from: source(.sandboxed, "org.evil.App")).text
        #expect(shown.hasPrefix("(from org.evil.App)\nSign in.\n(from org.gnome.Settings)\n\n"))
    }

    @Test func serviceWithoutTextOrActionsGetsWhatItCanShow() throws {
        let reminder = self.reminder("Tea", from: source(.user), handler: "Kitchen")
        let full = reminder.notification(for: ["actions", "body"])
        #expect(full.title == "Kitchen" && full.text == "Tea" && full.actions.map(\.id) == ["default"])
        let poor = reminder.notification(for: [])
        #expect(poor.title == "Kitchen: Tea" && poor.actions.isEmpty)
    }
}
