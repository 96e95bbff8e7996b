import DBus
import Testing

@testable import OpenURLBus

/// The notifications of handlers, as they are on the bus.
@Suite struct LocalNotificationCodingTests {
    private func read(_ entries: [String: Value]) throws -> LocalNotification {
        try #require(try LocalNotification(value: .options(entries)))
    }

    @Test func valueIsTheSameAfterAWayThroughPlatformData() throws {
        var notification = LocalNotification(
            "Tea\n<b>",
            at: .wallClock(try #require(WallClockTime("2030-01-01T09:00")))
        )
        notification.repeatInterval = .day
        notification.identifier = "tea.1"
        notification.title = "Kitchen"
        notification.url = "todo:tea"
        notification.userInfo = ["cups": .int32(2), "kinds": .array(["green"], of: "s")]
        let data = FreedesktopApplication.platformData(OpenOptions(), notification.clicked())
        #expect(try FreedesktopApplication.notification(data) == notification.clicked())
        #expect(try FreedesktopApplication.notification([:]) == nil)
        #expect(notification.clicked().listed(of: "a", next: 1).scheduled(as: "tea.1") == notification)
    }

    @Test(
        arguments: [
            (["title": "a"], "a notification without a text"),
            (["text": ""], "'text' must have 1 to 1024 bytes"),
            (["text": .string(String(repeating: "ü", count: 513))], "'text' must have 1 to 1024 bytes"),
            (["text": "a", "title": ""], "'title' must have 1 to 256 bytes"),
            (["text": "a", "title": .string(String(repeating: "x", count: 257))], "'title' must have"),
            (
                ["text": "a", "url": .string("a:" + String(repeating: "x", count: 8191))],
                "'url' has more than 8192 bytes"
            ),
            (["text": "a", "identifier": "a b"], "'identifier' has at most 64"),
            (["text": "a", "identifier": .string(String(repeating: "x", count: 65))], "'identifier' has at most 64"),
            (["text": "a", "every": "day"], "'every' 'day' needs a time"),
            (["text": "a", "every": "day", "at": "2030-01-01T09:00:00Z"], "'every' 'day' needs a time"),
            (["text": "a", "at": "tomorrow"], "'tomorrow' is not a time"),
            (
                ["text": "a", "user-info": .options(["a": .string(String(repeating: "x", count: 4096))])],
                "'user-info' has descriptors, or more than 4096 bytes"
            ),
            (["text": .uint32(1)], "'text' must be of type 's'"),
        ] as [([String: Value], String)]
    )
    func refusesABadNotification(entries: [String: Value], reason: String) {
        let error = #expect(throws: MessageDecodingError.self) { try read(entries) }
        #expect(error.map { "\($0)".contains(reason) } == true, "\(String(describing: error))")
    }
}
