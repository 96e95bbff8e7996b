import Foundation
import RFC1808
import Synchronization
import TestSupport
import Testing

@testable import Loopback

/// The server on real sockets of this machine.
@Suite(.timeLimit(.minutes(1))) struct LoopbackServerTests {
    /// Connects, sends a text, and returns a closure that reads the answer up to its end.
    private func send(_ text: String, to port: UInt16, v6: Bool = false) throws -> () -> String {
        let client = try connection(to: port, v6: v6)
        #expect(send(text, on: client))
        return { answer(on: client) }
    }

    /// Returns whether the connection took the whole text.
    private func send(_ text: String, on client: Int32) -> Bool {
        Glibc.send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count
    }

    /// Reads the answer up to its end, and closes the connection.
    private func answer(on client: Int32) -> String {
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(client, &bytes, bytes.count, 0), count > 0 { all += bytes[..<count] }
        close(client)
        return String(decoding: all, as: UTF8.self)
    }

    private func connection(to port: UInt16, v6: Bool = false) throws -> Int32 {
        let client = socket(v6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let status: Int32
        if v6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            status = withUnsafeBytes(of: &address) {
                connect(client, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
            }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            status = withUnsafeBytes(of: &address) {
                connect(client, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
            }
        }
        try #require(status == 0)
        return client
    }

    /// Serves until there is nothing to do for some time, or the callback comes.
    private func serve(_ server: LoopbackServer, for time: Int32 = 300) -> GenericURL? {
        var entry = pollfd(fd: server.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, time) > 0 {
            guard let url = server.process() else { continue }
            server.confirm()
            return url
        }
        return nil
    }

    private func server(_ address: String = "http://127.0.0.1/cb", state: String? = nil) throws -> LoopbackServer {
        try LoopbackServer(GenericURL(address)) { url in state.map { "\(url)".contains("state=\($0)") } ?? true }
    }

    @Test func freePortIsPutIntoTheAddress() throws {
        let server = try server("http://LOCALHOST/cb?a=1")
        let port = try #require(server.redirect.port)
        #expect("\(server.redirect)" == "http://localhost:\(port)/cb?a=1")
    }

    @Test(arguments: [false, true]) func callbackComes(_ v6: Bool) throws {
        let server = try server()
        let port = try #require(server.redirect.port)
        let answer = try send("GET /cb?code=1 HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port, v6: v6)
        #expect(serve(server).map { "\($0)" } == "http://127.0.0.1:\(port)/cb?code=1")
        #expect(answer().contains("You can close this tab"))
    }

    @Test(arguments: [false, true]) func browserGetsItsAnswerAfterTheProgram(_ isConfirmed: Bool) throws {
        var server: LoopbackServer? = try server()
        let port = try #require(server?.redirect.port)
        let answer = try send("GET /cb HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
        var entry = pollfd(fd: try #require(server?.descriptor), events: Int16(POLLIN), revents: 0)
        var url: GenericURL?
        while url == nil, poll(&entry, 1, 10_000) > 0 { url = server?.process() }
        #expect(url != nil)
        // Nothing more happens by itself, and the port is free again.
        #expect(poll(&entry, 1, 0) == 0)
        let next = try self.server("http://127.0.0.1:\(port)/cb")
        #expect(next.redirect.port == port)
        if isConfirmed { server?.confirm() } else { server = nil }
        #expect(answer().contains("You can close this tab"))
    }

    /// The kernel remembers the connections of the first server for a minute.
    @Test(arguments: [false, true]) func portServesTwice(_ v6: Bool) throws {
        var port: UInt16 = 0
        for round in 1...2 {
            let server = try server("http://127.0.0.1\(port == 0 ? "" : ":\(port)")/cb")
            port = try #require(server.redirect.port)
            let answer = try send("GET /cb?\(round) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port, v6: v6)
            #expect(serve(server) != nil)
            #expect(answer().hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func wrongStateConsumesNothing() throws {
        let server = try server(state: "right")
        let port = try #require(server.redirect.port)
        let head = "HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"
        let refused = try send("GET /cb?state=wrong \(head)", to: port)
        #expect(serve(server) == nil)
        #expect(refused().hasPrefix("HTTP/1.1 403"))
        let taken = try send("GET /cb?state=right \(head)", to: port)
        #expect(serve(server) != nil)
        #expect(taken().hasPrefix("HTTP/1.1 200"))
    }

    @Test func requestMayComeInPieces() throws {
        let server = try server()
        let port = try #require(server.redirect.port)
        let client = try connection(to: port)
        #expect(send("GET /cb HTTP/1.1\r\n", on: client))
        #expect(serve(server) == nil)
        let other = try send("GET /other HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
        #expect(serve(server) == nil)
        #expect(other().hasPrefix("HTTP/1.1 404"))
        #expect(send("Host: 127.0.0.1:\(port)\r\n\r\n", on: client))
        #expect(serve(server, for: 10_000) != nil)
        #expect(answer(on: client).hasPrefix("HTTP/1.1 200"))
    }

    @Test func callbackComesOnce() throws {
        let server = try server()
        let port = try #require(server.redirect.port)
        let head = "GET /cb HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
        let (first, second) = (try connection(to: port), try connection(to: port))
        #expect(send("GET ", on: second))
        #expect(serve(server) == nil)
        #expect(send(head, on: first))
        var entry = pollfd(fd: server.descriptor, events: Int16(POLLIN), revents: 0)
        var url: GenericURL?
        while url == nil, poll(&entry, 1, 10_000) > 0 { url = server.process() }
        #expect(url != nil)
        #expect(send(head, on: first))
        // The server has closed the other connection, so the kernel may refuse this.
        _ = send("/cb HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", on: second)
        // The browser waits for longer than a request may take.
        let time = Int32(LoopbackServer.time.components.seconds + 1) * 1000
        #expect(poll(&entry, 1, time) == 0)
        #expect(server.process() == nil)
        server.confirm()
        #expect(answer(on: first).contains("You can close this tab"))
        #expect(answer(on: second) == "")
    }

    @Test func connectionThatSendsNothingEnds() throws {
        let server = try server()
        let answer = try send("GET", to: #require(server.redirect.port))
        #expect(serve(server, for: 10_000) == nil)
        #expect(answer() == "")
    }

    @Test func connectionsAreBoundedAndOthersWait() throws {
        let server = try server()
        let port = try #require(server.redirect.port)
        let idle = try (0..<LoopbackServer.connections).map { _ in try send("GET", to: port) }
        #expect(serve(server) == nil)
        let answer = try send("GET /cb HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
        // The idle connections end at their time, and make room.
        #expect(serve(server, for: 10_000) != nil)
        #expect(answer().hasPrefix("HTTP/1.1 200"))
        _ = idle
    }

    /// Browsers leave out the default port.
    @Test(arguments: [(80, true), (8080, false)] as [(UInt16, Bool)])
    func hostWithoutAPortIsThatOfPort80(_ port: UInt16, _ isTaken: Bool) {
        let hosts = LoopbackServer.hosts(at: port)
        #expect(hosts.contains("127.0.0.1:\(port)") && hosts.contains("[::1]:\(port)"))
        #expect(hosts.contains("localhost") == isTaken)
    }

    @Test func serverPausesWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer(GenericURL("http://127.0.0.1/cb")) { _ in true }
            let port = try #require(server.redirect.port)
            let head = "GET /cb HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            let answer = try LoopbackServerTests().send(head, to: port)
            let taken = TakenDescriptors()
            var entry = pollfd(fd: server.descriptor, events: Int16(POLLIN), revents: 0)
            #expect(poll(&entry, 1, 10_000) == 1)
            // Each attempt to accept the connection is followed by a pause.
            var attempts = 0
            repeat {
                #expect(server.process() == nil)
                attempts += 1
            } while poll(&entry, 1, 0) == 1 && attempts < 1000
            taken.giveBack()
            #expect(attempts < 1000)
            #expect(LoopbackServerTests().serve(server, for: 10_000) != nil)
            #expect(answer().hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func portThatIsTakenIsAnError() throws {
        let first = try server()
        let error = #expect(throws: LoopbackError.self) { try server("\(first.redirect)") }
        #expect(error?.description.contains("cannot be used") == true)
    }

    @Test(arguments: [
        "https://127.0.0.1/", "http://192.168.0.1/", "http://127.0.0.1.example/", "http://a@127.0.0.1/", "x:",
    ])
    func otherAddressesAreErrors(_ address: String) throws {
        #expect(throws: LoopbackError.self) { try server(address) }
    }
}
