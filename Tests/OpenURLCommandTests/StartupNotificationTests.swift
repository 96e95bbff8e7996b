import Testing

@testable import OpenURLCommand

/// The message that ends a startup notification of X11.
struct StartupNotificationTests {
    @Test func onlyANameOfX11IsANotification() {
        #expect(StartupNotification("gio-1-host_TIME5", on: ":0") != nil)
        #expect(StartupNotification("gio-1-host_TIME5", on: nil) == nil)
        #expect(StartupNotification("6e1e7e5c-wayland-token", on: ":0") == nil)
        #expect(StartupNotification(nil, on: ":0") == nil)
        #expect(StartupNotification("_TIME" + String(repeating: "1", count: 5000), on: ":0") == nil)
    }

    @Test(arguments: [
        ("a_TIME1", #"remove: ID="a_TIME1""#), (#"a b"c\d_TIME1"#, #"remove: ID="a b\"c\\d_TIME1""#),
        ("123456789012_TIME", #"remove: ID="123456789012_TIME""#),
    ])
    func messageNamesTheNotificationInPiecesOfTwentyBytes(id: String, text: String) throws {
        let pieces = try #require(StartupNotification(id, on: ":0")).removal
        #expect(pieces.allSatisfy { $0.count == 20 })
        let bytes = pieces.flatMap(\.self)
        #expect(bytes.prefix { $0 != 0 }.elementsEqual(text.utf8))
        // The message ends with a zero, within the last piece.
        #expect((text.utf8.count + 1...text.utf8.count + 20).contains(bytes.count))
    }
}
