import Glibc
import Testing

@testable import URLOpener

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

    /// A display behind a network may accept a connection and never answer.
    @Test func silentDisplayIsLeft() throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listening) }
        // The number of a display is that of its port, less 6000.
        let display = try #require(
            (700..<800).first { number in
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = in_port_t(6000 + number).bigEndian
                address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
                return withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                        bind(listening, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    }
                }
            }
        )
        #expect(listen(listening, 1) == 0)
        // The test ends only if the call returns.
        StartupNotification("a_TIME1", on: "127.0.0.1:\(display)")?.end()
    }
}
