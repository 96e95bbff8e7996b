import DBus
import Foundation
import Glibc
import OpenURLBus
import TestSupport
import Testing

/// URLs that come as notifications, with a service in Python.
@Suite(.timeLimit(.minutes(10))) struct NotificationServiceTests {
    private static let app = "com.example.app"
    private func reminder(_ text: String, _ time: DeliveryTime? = nil) -> OpenOptions {
        var options = OpenOptions()
        options.notification = text
        options.deliveryTime = time
        return options
    }

    private func opened(_ router: RouterProcess) throws -> [String] {
        try router.log(of: Self.app).filter { $0.hasPrefix("open ") }
    }

    @Test func clickOpensTheURL() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let service = try await router.startNotificationService("actions", "body", "body-markup")
        defer { kill(service, SIGKILL) }
        let changes = try await router.queueChanges()
        let run = try await router.openurl("--at", "+1s", "--notify", "Tea is <b>ready</b> & hot", "-v", "app:tea")
        #expect(run.status == 0, "\(run.errors)")
        let id = try #require(run.output.split(separator: " ").last?.dropLast(2))
        try await changes.wait(for: "delivered", of: String(id))
        // The URL has left the queue, and nothing has been opened.
        #expect(try await router.queuedURLs() == [])
        #expect(try opened(router) == [])
        let note = try #require(try await router.notes().first)
        #expect(note.title == Self.app)
        #expect(note.text == "Tea is &lt;b&gt;ready&lt;/b&gt; &amp; hot")
        #expect(note.actions == "default Open")
        try await router.click(note, "token-1")
        try await eventually(try opened(router)) { $0 == ["open app:tea"] }
        try await eventually(await router.queuedURLs()) { $0.isEmpty }
    }

    /// The service's signals may come before its answer.
    @Test func clickBeforeTheAnswerCounts() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let service = try await router.startNotificationService("actions", "body")
        defer { kill(service, SIGKILL) }
        for number in 0..<10 { _ = try await router.open("app:\(number)", reminder("at once")) }
        let opened = try await eventually(try opened(router)) { $0.count == 10 }
        #expect(Set(opened) == Set((0..<10).map { "open app:\($0)" }))
        try await eventually(await router.queuedURLs()) { $0.isEmpty }
    }

    @Test func dismissedNotificationOpensNothing() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let service = try await router.startNotificationService("actions", "body")
        defer { kill(service, SIGKILL) }
        let changes = try await router.queueChanges()
        for text in ["a < b", "second"] {
            let result = try await router.open("app:\(text.count)", reminder(text))
            try await changes.wait(for: "delivered", of: result.id ?? "")
        }
        let notes = try await router.notes()
        // Without markup, the text is as it is.
        #expect(notes.map(\.text) == ["a < b", "second"])
        try await router.dismiss(notes[0])
        try await router.click(notes[1], "")
        try await eventually(try opened(router)) { !$0.isEmpty }
        #expect(try opened(router) == ["open app:6"])
    }

    @Test func withoutAServiceTheURLWaitsAndSaysWhy() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let id = try #require(try await router.open("app:1", reminder("text")).id)
        try await changes.wait(for: "waiting", of: id)
        let entry = try #require(try await router.queuedURLs().first)
        #expect(entry.id == id)
        #expect(entry.notification == "text")
        #expect(
            entry.error?.message
                == "the notification was not shown: org.freedesktop.Notifications is not on the session bus"
        )
        let list = try await router.openurl("queue", "list", "--json")
        #expect(list.output.contains(#""notify":"…""#), "\(list.output)")
        let service = try await router.startNotificationService("actions", "body")
        defer { kill(service, SIGKILL) }
        // The router itself may have tried again by now.
        _ = try await router.openurl("queue", "retry", id)
        try await changes.wait(for: "delivered", of: id)
        #expect(try await router.notes().map(\.text) == ["text"])
    }

    /// One program gets half of the 256 notifications that react to clicks.
    @Test func oldestNotificationsOfAProgramMakeWay() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let service = try await router.startNotificationService("actions", "body")
        defer { kill(service, SIGKILL) }
        for number in 1...130 { _ = try await router.open("app:\(number)", reminder("\(number)")) }
        let notes = try await eventually(await router.notes()) { $0.last?.text == "130" && $0.count == 128 }
        #expect(notes.map(\.text) == (3...130).map { "\($0)" })
        try await router.click(notes[0], "")
        try await eventually(try opened(router)) { $0 == ["open app:3"] }
    }

    /// The numbers of another service's notifications mean others.
    @Test func notificationsOfAnEarlierServiceAreGone() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        for (number, capabilities) in [["actions", "body"], ["actions"]].enumerated() {
            let service = try await router.startNotificationService(
                capabilities[0],
                capabilities.count > 1 ? "body" : ""
            )
            let result = try await router.open("app:\(number)", reminder("text"))
            try await changes.wait(for: "delivered", of: result.id ?? "")
            let note = try #require(try await router.notes().first)
            // Both have the number 1.
            #expect(note.id == 1)
            // A service that shows no text has it in the title.
            #expect(note.title == (number == 0 ? Self.app : "\(Self.app): text"))
            if number == 1 {
                try await router.click(note, "")
                try await eventually(try opened(router)) { $0 == ["open app:1"] }
            }
            let (owners, continuation) = AsyncStream<BusName?>.makeStream()
            let watch = try await router.connection.watchName("org.freedesktop.Notifications") { _, new in
                continuation.yield(new)
            }
            kill(service, SIGKILL)
            for await owner in owners where owner == nil { break }
            try await router.connection.unwatchName(watch)
        }
    }
}
