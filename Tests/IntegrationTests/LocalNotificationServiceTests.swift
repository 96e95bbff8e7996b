import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The handlers' own notifications, with real processes and the service in Python.
@Suite(.timeLimit(.minutes(10))) struct LocalNotificationServiceTests {
    private static let app = "com.example.app"
    private static let launch = ["willFinishLaunching", "didFinishLaunching"]

    /// Starts a router with a handler that schedules a notification with the text for each URL.
    private func router(_ text: String = "Tea", _ arguments: String...) async throws -> RouterProcess {
        let router = try await RouterProcess([Self.app: ["reasons", "notify=\(text)"] + arguments])
        try await router.startNotificationService("actions", "body", "body-markup")
        return router
    }

    private func openInBackground(_ router: RouterProcess) async throws {
        var options = OpenOptions()
        options.inBackground = true
        _ = try await router.open("app:x", options)
    }

    private func events(_ router: RouterProcess) throws -> [String] {
        try router.log(of: Self.app).filter { !$0.hasPrefix("start ") }
    }

    /// Returns the notes on the screen as soon as there are so many.
    private func notes(_ count: Int, _ router: RouterProcess) async throws -> [RouterProcess.Note] {
        try await eventually(await router.notes()) { $0.count == count }
    }

    @Test func clickLaunchesTheHandlerIntoTheForeground() async throws {
        let router = try await router("Tea is <b>ready</b> & hot")
        defer { router.stop() }
        try await openInBackground(router)
        let note = try #require(try await notes(1, router).first)
        #expect(note.title == Self.app)
        #expect(note.text == "Tea is &lt;b&gt;ready&lt;/b&gt; &amp; hot")
        try await router.lifecycle(LifecycleInterface.terminate, Self.app)
        let before = try events(router).count
        try await router.click(note, "token-1")
        let expected =
            ["reason notification", "launched for Tea is <b>ready</b> & hot"] + Self.launch
            + ["local Tea is <b>ready</b> & hot clicked", "didBecomeActive"]
        try await eventually(try Array(events(router).dropFirst(before))) { $0 == expected }
        #expect(try await router.status(of: Self.app).state == .known(.active))
    }

    @Test func activeHandlerGetsItQuietly() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:x")
        try await eventually(try events(router)) { $0.contains("local Tea quiet") }
        try await eventually(await router.queuedURLs()) { $0.isEmpty }
        #expect(try await router.notes().isEmpty)
    }

    @Test func clickBringsARunningHandlerToTheForeground() async throws {
        let router = try await router("Tea", "tokens")
        defer { router.stop() }
        try await openInBackground(router)
        let note = try #require(try await notes(1, router).first)
        let before = try events(router).count
        try await router.click(note, "token-1")
        let expected = ["willEnterForeground", "local Tea clicked", "didBecomeActive", "token token-1"]
        try await eventually(try Array(events(router).dropFirst(before))) { $0 == expected }
    }

    @Test func clickOpensTheURL() async throws {
        let router = try await router()
        defer { router.stop() }
        var notification = LocalNotification("Milk")
        notification.url = "app:milk"
        try await router.schedule(notification, of: Self.app)
        let note = try #require(try await notes(1, router).first)
        try await router.click(note, "")
        try await eventually(try events(router)) { $0.contains("for notification Milk") }
        #expect(try events(router).contains("open app:milk"))
    }

    /// The router is killed before the time, and the time passes without a router.
    @Test func missedNotificationIsShownOnceByTheNextRouter() async throws {
        let router = try await router()
        defer { router.stop() }
        let soon = Int64(Date.now.timeIntervalSince1970 * 1000) + 5000
        try await router.schedule(LocalNotification("missed", at: .instant(milliseconds: soon)), of: Self.app)
        try await router.schedule(LocalNotification("later", at: .after(.seconds(3600))), of: Self.app)
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        _ = try await router.connection.watchName(RouterService.name) { _, new in continuation.yield(new) }
        kill(router.pid, SIGKILL)
        for await owner in owners where owner == nil { break }
        try await eventually(Int64(Date.now.timeIntervalSince1970 * 1000)) { $0 > soon }
        for _ in 1...2 {
            try await router.startNext()
            try await eventually(await router.queuedURLs()) { $0.count == 1 }
            #expect(try await router.notes().map(\.text) == ["missed"])
            #expect(try await router.notifications(of: Self.app).map(\.text) == ["later"])
            kill(router.currentPID, SIGTERM)
            for await owner in owners where owner == nil { break }
        }
    }

    @Test func cancelTakesItOffTheScreen() async throws {
        let router = try await router()
        defer { router.stop() }
        for text in ["Tea", "Milk"] {
            var notification = LocalNotification(text)
            notification.identifier = text
            try await router.schedule(notification, of: Self.app)
        }
        try await router.schedule(LocalNotification("later", at: .after(.seconds(3600))), of: Self.app)
        _ = try await notes(2, router)
        #expect(try await router.openurl("notifications", "cancel", Self.app, "Tea").status == 0)
        #expect(try await notes(1, router).map(\.text) == ["Milk"])
        #expect(try await router.openurl("notifications").output.contains("\tlater\t"))
        #expect(try await router.openurl("notifications", "cancel", "--all", Self.app).status == 0)
        _ = try await notes(0, router)
        #expect(try await router.notifications(of: Self.app).isEmpty)
        #expect(try await router.openurl("notifications").output == "")
    }

    @Test func notificationsEndWithTheRegistration() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        try await router.startNotificationService("actions", "body")
        let directory = router.bus.directory.appending(path: "elsewhere")
        try RouterProcess.write(Self.app, [], in: directory)
        let manifest = directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(Self.app).plist").path
        _ = try await router.register(manifest)
        try await router.schedule(LocalNotification("shown"), of: Self.app)
        try await router.schedule(LocalNotification("later", at: .after(.seconds(3600))), of: Self.app)
        _ = try await notes(1, router)
        #expect(try await router.openurl("unregister", Self.app).status == 0)
        _ = try await notes(0, router)
        #expect(try await router.queuedURLs() == [])
        #expect(try await router.openurl("register", "--ephemeral", manifest).status == 0)
        let error = try await #require(throws: CallError.self) {
            try await router.schedule(LocalNotification("late"), of: Self.app)
        }
        #expect("\(error)".contains("registered only temporarily"), "\(error)")
    }

    /// Neither a number that was never shown nor another program's signal is a click.
    @Test func clicksThatAreLiesOpenNothing() async throws {
        let router = try await router()
        defer { router.stop() }
        for text in ["Tea", "Milk"] {
            var notification = LocalNotification(text)
            notification.url = "app:\(text)"
            try await router.schedule(notification, of: Self.app)
        }
        let notes = try await notes(2, router)
        let path = "/org/freedesktop/Notifications"
        let signal = "org.freedesktop.Notifications.ActionInvoked"
        for note in notes {
            let id = "uint32:\(note.id)"
            let run = try await router.run(
                "dbus-send",
                "--session",
                "--type=signal",
                path,
                signal,
                id,
                "string:default"
            )
            #expect(run.status == 0, "\(run)")
        }
        try await router.invoke(99)
        try await router.click(notes[1], "")
        try await eventually(try events(router)) { $0.contains("open app:Milk") }
        #expect(try !events(router).contains("open app:Tea"))
    }

    @Test func handlerInAnotherLanguageActsForItselfOnly() async throws {
        let router = try await RouterProcess([:]) { directory in
            let notes = directory.appending(path: "notes").path
            try ScriptHandler.write(Self.app, "notified_handler", [notes], in: directory)
            try RouterProcess.write("com.example.other", [], in: directory)
        }
        defer { router.stop() }
        try await router.startNotificationService("actions", "body")
        let file = router.bus.directory.appending(path: "notes")
        var options = OpenOptions()
        options.inBackground = true
        // The router does not send it to the background, so it is active afterwards.
        let shown = try #require(try await router.open("app:Tea", options).reply["identifier"]?.string)
        let note = try #require(try await notes(1, router).first)
        try await router.click(note, "")
        try await eventually(try? String(contentsOf: file, encoding: .utf8)) { $0 == "clicked|\(shown)|Tea|2\n" }
        let quiet = try #require(try await router.open("app:Milk").reply["identifier"]?.string)
        let lines = "clicked|\(shown)|Tea|2\nnotification|\(quiet)|Milk|2\n"
        try await eventually(try? String(contentsOf: file, encoding: .utf8)) { $0 == lines }
        let refused = try await router.open("app:other").reply["error"]?.string
        #expect(refused == OpenURLError.Code.notAllowed.errorName.rawValue)
    }
}

extension RouterProcess {
    /// A notification on the screen of the service in Python.
    struct Note {
        let id: UInt32
        let title: String
        let text: String
        let actions: String
    }

    private static let service = RemoteObject("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
    private static let desktop: InterfaceName = "org.example.Desktop1"
    private static let shown = Method<Empty, Arguments<[UInt32], [String], [String], [String]>>(desktop, "Shown")
    private static let click = Method<Arguments<UInt32, String>, Empty>(desktop, "Click")
    private static let dismiss = Method<UInt32, Empty>(desktop, "Dismiss")
    private static let invoke = Method<UInt32, Empty>(desktop, "Invoke")

    /// Starts the service, which ends with the bus. Returns its process ID.
    @discardableResult
    func startNotificationService(_ capabilities: String...) async throws -> Int32 {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [ScriptHandler.path(of: "notification_service")] + capabilities
        process.environment = bus.environment
        process.standardError = FileHandle.nullDevice
        try await Self.waitForOwner(of: "org.freedesktop.Notifications", on: connection) { try process.run() }
        return process.processIdentifier
    }

    func notes() async throws -> [Note] {
        let (ids, titles, texts, actions) = try await connection.call(Self.shown, on: Self.service, Empty()).values
        return ids.indices.map { Note(id: ids[$0], title: titles[$0], text: texts[$0], actions: actions[$0]) }
    }

    func click(_ note: Note, _ token: String) async throws {
        _ = try await connection.call(Self.click, on: Self.service, Arguments(note.id, token))
    }

    func dismiss(_ note: Note) async throws {
        _ = try await connection.call(Self.dismiss, on: Self.service, note.id)
    }

    /// Makes the service report a click on a notification that need not exist.
    func invoke(_ id: UInt32) async throws {
        _ = try await connection.call(Self.invoke, on: Self.service, id)
    }

    func schedule(_ notification: LocalNotification, of id: String) async throws(CallError) {
        _ = try await connection.call(
            NotificationsInterface.schedule,
            on: RouterService.object,
            Arguments(id, notification)
        )
    }

    func notifications(of id: String) async throws -> [LocalNotification] {
        try await connection.call(NotificationsInterface.list, on: RouterService.object, id)
    }
}
