import Foundation
import Glibc
import PrivateBus
import Reactor
import Testing

@testable import DBus

/// Runs `body` with a listening socket in a temporary directory. The socket accepts no connection by itself.
private func withMuteSocket(
    backlog: Int32 = 16,
    _ body: (_ path: String, _ listening: Int32) async throws -> Void
) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "mute-\(UUID().uuidString)").path
    let listening = try #require(listeningSocket(path, backlog: backlog))
    do {
        try await body(path, listening)
    } catch {
        Issue.record(error)
    }
    close(listening)
    unlink(path)
}

/// Plays the bus for one connection. The answer to the first call is one message for each name, with the given sender.
private func answerHello(on listening: Int32, _ names: [(sender: String, name: String)]) {
    Thread.detachNewThread {
        let peer = RawPeer(descriptor: accept(listening, nil, nil))
        var text = ""
        while !text.contains("BEGIN\r\n") {
            guard let bytes = peer.read(1) else { return }
            text += String(decoding: bytes, as: UTF8.self)
            if text.hasSuffix("AUTH EXTERNAL ") { peer.write(Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8)) }
            if text.hasSuffix("NEGOTIATE_UNIX_FD\r\n") { peer.write(Array("AGREE_UNIX_FD\r\n".utf8)) }
        }
        guard let header = peer.read(16, flags: Int(MSG_WAITALL)) else { return }
        let serial = header[8..<12].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        for (sender, name) in names {
            let fields: [RawMessage.Field] = [.number(5, serial), .text(7, sender), .signature("s")]
            peer.write(RawMessage.bytes(2, 1, fields, body: RawMessage.string(name)))
        }
        while peer.read(4096) != nil {}
    }
}

@Suite(.timeLimit(.minutes(10))) struct OpeningTests {
    @Test func silentBusDoesNotBlockTheLoop() async throws {
        try await withMuteSocket { path, _ in
            let loop = try EventLoop()
            let bus = BusAddress.address("unix:path=\(path)")
            for open in [
                { try await Connection.open(bus, on: loop, timeout: .milliseconds(20)) },
                { try await Connection.open(peer: "unix:path=\(path)", on: loop, timeout: .milliseconds(20)) },
            ] as [@Sendable () async throws -> Connection] {
                await #expect(throws: ConnectionError.timedOut) { try await open() }
            }
            #expect(throws: ConnectionError.timedOut) { try BlockingConnection(bus, timeout: .milliseconds(20)) }
            let waiting = Task { try await Connection.open(bus, on: loop, timeout: .seconds(3600)) }
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await Connection.open(bus, on: loop, timeout: .seconds(3600))
            }
            await #expect(throws: ConnectionError.cancelled) { try await cancelled.value }
            // The loop still runs while one connection waits.
            for _ in 0..<10 { await loop.run {} }
            waiting.cancel()
            await #expect(throws: ConnectionError.cancelled) { try await waiting.value }
            loop.stop()
        }
    }

    @Test func fullSocketBacklogDoesNotBlockTheLoop() async throws {
        try await withMuteSocket(backlog: 0) { path, _ in
            var connected: [Int32] = []
            while let descriptor = connectedSocket(path, blocking: false) { connected.append(descriptor) }
            let loop = try EventLoop()
            await #expect(throws: ConnectionError.timedOut) {
                try await Connection.open(peer: "unix:path=\(path)", on: loop, timeout: .milliseconds(20))
            }
            for descriptor in connected { close(descriptor) }
            loop.stop()
        }
    }

    @Test func invalidUniqueNameIsAnError() async throws {
        for name in ["", "not a name", "org.example.WellKnown", ":"] {
            try await withMuteSocket { path, listening in
                let loop = try EventLoop()
                let address = BusAddress.address("unix:path=\(path)")
                answerHello(on: listening, [("org.freedesktop.DBus", name)])
                await #expect(throws: ConnectionError.self) { try await Connection.open(address, on: loop) }
                answerHello(on: listening, [("org.freedesktop.DBus", name)])
                #expect(throws: ConnectionError.self) { try BlockingConnection(address) }
                loop.stop()
            }
        }
    }

    @Test func answerFromAnotherSenderIsIgnored() async throws {
        try await withMuteSocket { path, listening in
            let loop = try EventLoop()
            answerHello(on: listening, [(":1.66", ":1.66"), ("org.freedesktop.DBus", ":1.2")])
            let connection = try await Connection.open(.address("unix:path=\(path)"), on: loop)
            #expect(connection.uniqueName == ":1.2")
            await connection.close()
            loop.stop()
        }
    }

    /// A shell with the variables of a session that has ended, or with none, does not find systemd's bus.
    @Test func busOfTheUserIsFoundBesideOthers() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        mkdir(directory, 0o700)
        let missed = { (address: String?) in
            BusAddress.missed { $0 == "XDG_RUNTIME_DIR" ? directory : $0 == "DBUS_SESSION_BUS_ADDRESS" ? address : nil }
        }
        #expect(missed("unix:path=/nonexistent") == nil)
        let socket = try #require(listeningSocket(directory + "/bus", backlog: 1))
        defer { close(socket) }
        #expect(missed("unix:path=/nonexistent") == "unix:path=\(directory)/bus")
        // Here the environment leads to it already.
        #expect(missed("unix:path=\(directory)/bus") == nil)
        #expect(missed(nil) == nil)
        try FileManager.default.removeItem(atPath: directory)
    }

    @Test func serialsIncreaseBelowThoseOfFilters() {
        var serials = Serials()
        #expect((0..<3).map { _ in serials.next() } == [1, 2, 3])
        serials = Serials(after: 4_294_901_758)
        #expect((0..<3).map { _ in serials.next() } == [4_294_901_759, 1, 2])
    }

    @Test func environmentNamesTheBus() async throws {
        let bus = try await PrivateBus()
        let address: String = bus.address
        // A child process has its own environment.
        await #expect(processExitsWith: .success) { [address = address as String] in
            setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
            setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1)
            for bus in [BusAddress.session, .system] {
                #expect(bus.text == address)
                let connection = try BlockingConnection(bus)
                try connection.call(PeerInterface.ping, on: RemoteObject(.bus, "/"), Empty())
            }
            unsetenv("DBUS_SYSTEM_BUS_ADDRESS")
            setenv("DBUS_SESSION_BUS_ADDRESS", "", 1)
            #expect(BusAddress.system.text == "unix:path=/var/run/dbus/system_bus_socket")
            unsetenv("XDG_RUNTIME_DIR")
            #expect(BusAddress.session.text == "autolaunch:")
            // Without a display, libdbus starts no bus.
            unsetenv("DISPLAY")
            let error = #expect(throws: ConnectionError.self) { try BlockingConnection(.session) }
            #expect(error?.reason == "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR leads to one")
            let directory = FileManager.default.temporaryDirectory.appending(path: "run \(UUID().uuidString)").path
            mkdir(directory, 0o700)
            setenv("XDG_RUNTIME_DIR", directory, 1)
            #expect(BusAddress.session.text == "autolaunch:")
            let socket = try #require(listeningSocket(directory + "/bus", backlog: 1))
            #expect(BusAddress.session.text == "unix:path=\(directory.replacing(" ", with: "%20"))/bus")
            close(socket)
            try FileManager.default.removeItem(atPath: directory)
        }
        bus.stop()
    }
}
