import DBus
import OpenURLBus
import Testing

/// The round trip of one URL of the queue.
@Suite struct QueuedURLTests {
    @Test func roundTripKeepsAllFields() throws {
        var url = QueuedURL(
            id: "12",
            url: "app:x",
            handler: "com.example.app",
            state: .waiting,
            attempts: 3,
            accepted: 1_700_000_000
        )
        #expect(try recoded(url) == url)
        url.next = 1_700_000_004
        url.deliveryTime = .instant(milliseconds: 1_700_000_004_000)
        url.repeatInterval = .month
        url.notification = "text"
        url.error = RemoteError("org.openurl.Error.LaunchFailed", "why")
        #expect(try recoded(url) == url)
        #expect(
            try recoded(url, as: [String: Value].self) == [
                "id": "12", "url": "app:x", "handler": "com.example.app", "state": "waiting", "attempts": .uint32(3),
                "accepted": .uint64(1_700_000_000), "next": .uint64(1_700_000_004),
                "at": "2023-11-14T22:13:24Z", "every": "month", "notify": "text",
                "error": "org.openurl.Error.LaunchFailed", "message": "why",
            ]
        )
    }

    @Test func fieldOfAnotherTypeIsAnError() throws {
        let options: [String: Value] = ["id": "1", "url": "a:", "state": "dead"]
        for (key, signature) in [
            ("id", "s"), ("url", "s"), ("handler", "s"), ("state", "s"), ("attempts", "u"), ("accepted", "t"),
            ("next", "t"), ("at", "s"), ("every", "s"), ("notify", "s"), ("error", "s"),
        ] as [(String, Signature)] {
            try expectType(signature, of: key, in: options, as: QueuedURL.self)
        }
        for key in options.keys {
            let rest = options.filter { $0.key != key }
            #expect(try problem(rest, as: QueuedURL.self) == "a queued URL without an id, a URL or a state")
        }
        #expect(
            try problem(options.merging(["state": "odd"]) { $1 }, as: QueuedURL.self)
                == "'odd' is not a state of a queued URL"
        )
    }
}
