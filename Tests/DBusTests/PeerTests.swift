import Foundation
import Glibc
import Reactor
import TestSupport
import Testing

@testable import DBus

/// Runs `body` with a listener in a temporary directory and a connection to the listener.
func withPeers(
    limits: ConnectionLimits = ConnectionLimits(),
    maximumConnections: Int = 256,
    _ body: (PeerListener, Connection, _ accepted: AsyncStream<Connection>) async throws -> Void
) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "peers-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
        at: directory,
        withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700]
    )
    defer {
        do { try FileManager.default.removeItem(at: directory) } catch { Issue.record("\(error)") }
    }
    let (accepted, accept) = AsyncStream.makeStream(of: Connection.self)
    let listener = try await PeerListener.listen(
        at: "unix:dir=\(directory.path)",
        on: EventLoop(),
        limits: limits,
        maximumConnections: maximumConnections
    ) { connection in
        connection.export([Echo.exported()], at: Echo.path)
        accept.yield(connection)
    }
    let client = try await Connection.open(peer: listener.address, on: EventLoop(), limits: limits)
    do {
        try await body(listener, client, accepted)
    } catch {
        Issue.record(error)
    }
    await client.close()
    await listener.close()
    await listener.close()
    client.loop.stop()
    listener.loop.stop()
}

@Suite(.timeLimit(.minutes(10))) struct PeerTests {
    private static let object = RemoteObject(nil, Echo.path)

    @Test func callsErrorsAndPropertiesWorkAsOnABus() async throws {
        try await withPeers { _, client, _ in
            #expect(client.uniqueName == nil)
            #expect(try await client.call(Echo.string, on: Self.object, "ß") == "ß")
            // Without a bus no sender is verified.
            #expect(try await client.call(Echo.sender, on: Self.object, Empty()) == "")
            #expect(try await client.get(Echo.volume, on: Self.object) == 5)
            await #expect(throws: CallError.remote(RemoteError("a.b", "c"))) {
                try await client.call(Echo.fail, on: Self.object, Arguments("a.b", "c"))
            }
            let pipe = try Pipe()
            let copy = try await client.call(Echo.descriptor, on: Self.object, pipe.writeEnd)
            #expect(write(copy.rawValue, "x", 1) == 1)
        }
    }

    @Test func bothEndsCallAndExport() async throws {
        try await withPeers { _, client, accepted in
            await client.export([Echo.exported()], at: "/client")
            var iterator = accepted.makeAsyncIterator()
            let server = try #require(await iterator.next())
            #expect(try await server.call(Echo.string, on: RemoteObject(nil, "/client"), "back") == "back")
            let signals = try await client.signals(Echo.played, matching: MatchRule(path: Echo.path))
            try await server.emit(Echo.played, from: "/elsewhere", Arguments("no", 0))
            try await server.emit(Echo.played, from: Echo.path, Arguments("yes", 1))
            var signal = signals.makeAsyncIterator()
            #expect(await signal.next()?.body.values.0 == "yes")
        }
    }

    @Test func kernelProvidesThePeersCredentials() async throws {
        try await withPeers { _, client, accepted in
            var iterator = accepted.makeAsyncIterator()
            let server = try #require(await iterator.next())
            for connection in [client, server] {
                let credentials = try #require(await connection.peerCredentials)
                #expect(credentials.pid == UInt32(getpid()))
                #expect(credentials.uid == getuid())
            }
        }
    }

    @Test func closingOneEndClosesTheOther() async throws {
        try await withPeers { _, client, accepted in
            var iterator = accepted.makeAsyncIterator()
            let server = try #require(await iterator.next())
            let hanging = Task { try await client.call(Echo.never, on: Self.object, Empty(), timeout: nil) }
            #expect(try await client.call(Echo.string, on: Self.object, "") == "")
            await server.close()
            await #expect(throws: CallError.disconnected) { try await hanging.value }
            #expect(await client.waitUntilClosed() == .disconnected)
            #expect(await server.waitUntilClosed() == .closed)
            #expect(await client.peerCredentials == nil)
        }
    }

    @Test func excessConnectionsAreRefused() async throws {
        try await withPeers(maximumConnections: 1) { (listener, client, _) async throws in
            #expect(try await client.call(Echo.string, on: Self.object, "") == "")
            await #expect(throws: ConnectionError(reason: "the other end closed the connection")) {
                try await Connection.open(peer: listener.address, on: listener.loop)
            }
            #expect(try await client.call(Echo.string, on: Self.object, "") == "")
        }
    }

    @Test func unusableAddressesAreErrors() async throws {
        let loop = try EventLoop()
        for address in ["unix:path=/nonexistent/directory/socket", "nonsense", "", "a\0b", "unix:"] {
            await #expect(throws: ConnectionError.self) { try await Connection.open(peer: address, on: loop) }
            await #expect(throws: ConnectionError.self) {
                try await PeerListener.listen(at: address, on: loop) { _ in }
            }
        }
        loop.stop()
    }

    @Test func invalidBytesEndOnlyTheirConnection() async throws {
        try await withPeers { listener, client, _ in
            var random = SeededGenerator(seed: 5)
            let path = String(listener.address.split(separator: ",")[0].dropFirst("unix:path=".count))
            for round in 0..<40 {
                let socket = try #require(connectedSocket(path))
                var bytes: [UInt8] =
                    round % 2 == 0 ? [0] : Array("\0AUTH EXTERNAL \r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n".utf8)
                if round % 4 == 3 { bytes += [108, 1, 0, 1] }
                bytes += (0..<200).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                shutdown(socket, Int32(SHUT_WR))
                var answer = [UInt8](repeating: 0, count: 4096)
                while read(socket, &answer, answer.count) > 0 {}
                close(socket)
            }
            #expect(try await client.call(Echo.string, on: Self.object, "still there") == "still there")
        }
    }

    @Test func unreadMessagesWaitInOrder() async throws {
        var limits = ConnectionLimits()
        limits.queuedBytes = 1 << 20
        limits.bodyBytes = 2 << 20
        try await withPeers(limits: limits) { listener, client, _ in
            #expect(try await client.call(Echo.string, on: Self.object, "") == "")
            // The thread at the other end blocks until it reads a byte.
            let gate = try Pipe()
            listener.loop.execute {
                var byte: UInt8 = 0
                _ = read(gate.readEnd.rawValue, &byte, 1)
            }
            let text = String(repeating: "x", count: 500_000)
            let order = Lock<[UInt32]>([])
            let calls = await Caller(client).inOrder(0..<40) { (number: UInt32) async throws in
                _ = try await client.call(Echo.string, on: Self.object, text, timeout: nil)
                order.withLock { $0.append(number) }
            }
            try await eventually(await client.queuedMessages) { $0 >= 30 }
            let emitter = Task {
                try await client.emit(Echo.played, from: "/", Arguments("", 1))
                await client.waitForRoom()
            }
            let hurried = Task { try await client.call(Echo.string, on: Self.object, "", timeout: .milliseconds(1)) }
            await #expect(throws: CallError.timedOut) { try await hurried.value }
            calls[39].cancel()
            await #expect(throws: CallError.cancelled) { try await calls[39].value }
            #expect(write(gate.writeEnd.rawValue, "x", 1) == 1)
            for call in calls.dropLast() { try await call.value }
            try await emitter.value
            #expect(order.withLock { $0 } == Array(0..<39))
            #expect(await client.queuedMessages == 0)
        }
    }

    @Test func messagesThatShareAWriteKeepTheirOrderAndDescriptors() async throws {
        try await withPeers { listener, client, _ in
            #expect(try await client.call(Echo.string, on: Self.object, "") == "")
            // The other end reads nothing at first, so the socket takes a part of the bytes.
            let gate = try Pipe()
            listener.loop.execute {
                var byte: UInt8 = 0
                _ = read(gate.readEnd.rawValue, &byte, 1)
            }
            let pipes = try (0..<4).map { _ in try Pipe() }
            let order = Lock<[UInt32]>([])
            let calls = await Caller(client).inOrder(0..<16) { (number: UInt32) async throws in
                let pipe = pipes[Int(number / 4)]
                var values = [Value.uint32(number)]
                if number % 4 == 1 { values.append(.string(String(repeating: "\(number)", count: 100_000))) }
                if number % 4 == 2 { values += [.byte(7), .array([.unixFD(pipe.writeEnd)], of: "h"), .uint64(.max)] }
                let echo = try await client.call(Echo.values, on: Self.object, values, timeout: nil)
                order.withLock { $0.append(number) }
                guard number % 4 == 2 else {
                    #expect(echo == values)
                    return
                }
                guard echo.count == 4, echo[1] == values[1], echo[3] == values[3],
                    case .array(let copies, _) = echo[2], case .unixFD(let copy)? = copies.first
                else {
                    Issue.record("\(echo)")
                    return
                }
                var byte = UInt8(number)
                #expect(write(copy.rawValue, &byte, 1) == 1)
            }
            try await eventually(await client.callsInFlight) { $0 >= 16 }
            #expect(write(gate.writeEnd.rawValue, "x", 1) == 1)
            for call in calls { try await call.value }
            #expect(order.withLock { $0 } == Array(0..<16))
            for (index, pipe) in pipes.enumerated() {
                var byte: UInt8 = 0
                #expect(read(pipe.readEnd.rawValue, &byte, 1) == 1 && byte == UInt8(4 * index + 2))
            }
        }
    }
}
