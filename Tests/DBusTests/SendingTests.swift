import Glibc
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

/// Runs `body` with the accepted end of a connection from a ``RawPeer``.
private func withRawPeer(
    queuedBytes: Int,
    _ body: (PeerListener, Connection, RawPeer) async throws -> Void
) async throws {
    var limits = ConnectionLimits()
    limits.queuedBytes = queuedBytes
    limits.messageBytes = 1 << 16
    try await withPeers(limits: limits) { listener, _, accepted in
        var iterator = accepted.makeAsyncIterator()
        _ = await iterator.next()
        let peer = try RawPeer(listener.address)
        try peer.authenticate()
        let server = try #require(await iterator.next())
        try await body(listener, server, peer)
    }
}

private let text = String(repeating: "x", count: 50_000)

/// Sends messages until some have to wait, because the socket has no room, and returns their number.
@discardableResult
private func fill(_ server: Connection, untilQueued count: Int) async throws -> Int {
    // The kernel gives a socket far less room than for this many messages.
    for sent in 0..<2000 {
        if await server.queuedMessages >= count { return sent }
        try await server.emit(Echo.played, from: "/", Arguments(text, 1))
    }
    let waiting = await server.queuedMessages
    try #require(waiting >= count, "the socket takes every message")
    return 2000
}

@Suite(.timeLimit(.minutes(10))) struct SendingTests {
    @Test func writesWithoutAnEventMakeRoomToo() async throws {
        try await withRawPeer(queuedBytes: 100_000) { listener, server, peer in
            var timeout = timeval(tv_sec: 300, tv_usec: 0)
            setsockopt(peer.descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            for round in 0..<20 as Range<UInt32> {
                let sent = try await fill(server, untilQueued: 2)
                let waiter = Task { await server.waitForRoom() }
                // While the loop is blocked, the peer reads all bytes in transit and sends messages to answer.
                let gate = try Pipe()
                listener.loop.execute {
                    var byte: UInt8 = 0
                    _ = Glibc.read(gate.readEnd.rawValue, &byte, 1)
                }
                var taken = peer.drain()
                peer.write(RawPeer.ping(round + 1))
                #expect(Glibc.write(gate.writeEnd.rawValue, "x", 1) == 1)
                while taken < sent * text.utf8.count { taken += try #require(peer.read(1 << 16)).count }
                await waiter.value
            }
        }
    }

    @Test func theFirstMessagesOfABurstAreWrittenBeforeItsEnd() async throws {
        try await withRawPeer(queuedBytes: 1 << 20) { listener, server, peer in
            let arrived = try await listener.loop.run {
                try server.assumeIsolated { server in
                    try (1...17).map { number in
                        try server.emit(Echo.played, from: "/", Arguments("x", UInt32(number)))
                        return peer.drain()
                    }
                }
            }
            #expect(arrived[..<15].allSatisfy { $0 == 0 })
            #expect(arrived[15] > 0)
            // The last message is written when the job has ended.
            #expect(arrived[16] == 0)
            #expect(peer.read(1 << 16)?.count == arrived[15] / 16)
        }
    }

    @Test func peerThatDoesNotReadIsDisconnected() async throws {
        try await withRawPeer(queuedBytes: 1 << 16) { _, server, peer in
            await #expect(throws: CallError.disconnected) {
                for _ in 0..<100 { try await server.emit(Echo.played, from: "/", Arguments(text, 1)) }
            }
            #expect(await server.waitUntilClosed() == .unread)
        }
    }

    @Test func peerThatDoesNotReadPingAnswersIsDisconnected() async throws {
        try await withRawPeer(queuedBytes: 1 << 16) { _, server, peer in
            var serial: UInt32 = 0
            repeat { serial += 1 } while serial < 200_000 && peer.write(RawPeer.ping(serial))
            #expect(serial < 200_000)
            #expect(await server.waitUntilClosed() == .unread)
        }
    }

    @Test func answersThatTheBusDoesNotTakeDoNotEndTheConnection() async throws {
        var limits = ConnectionLimits()
        limits.queuedBytes = 1 << 16
        limits.messageBytes = 1 << 16
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let large = Method<Empty, String>("com.example.Large1", "Get", outputs: ["text"])
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            let (gate, release) = AsyncStream.makeStream(of: Void.self)
            let opening = Task { for await _ in gate {} }
            let interface = ExportedInterface(
                "com.example.Large1",
                [
                    .method(large) { _, _ in
                        begin.yield()
                        await opening.value
                        return text
                    }
                ]
            )
            await pair.service.export([interface], at: "/large")
            let calls = (0..<20).map { _ in
                Task { try await pair.client.call(large, on: RemoteObject(Echo.name, "/large"), Empty(), timeout: nil) }
            }
            var beginnings = begun.makeAsyncIterator()
            for _ in calls { _ = await beginnings.next() }
            kill(pair.bus.pid, SIGSTOP)
            release.finish()
            await pair.service.waitUntilAnswered()
            #expect(await pair.service.isOpen)
            kill(pair.bus.pid, SIGCONT)
            var answers = 0
            for call in calls {
                switch await call.result {
                case .success: answers += 1
                case .failure(CallError.remote(let error)): #expect(error.name == .limitsExceeded)
                case .failure(let error): Issue.record(error)
                }
            }
            #expect(answers > 0 && answers < calls.count)
            // The connection reads on.
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "a") == "a")
        }
    }

    private static func waitsForSocket(_ connection: isolated Connection) -> Bool {
        connection.outputWatch?.isEnabled == true
    }

    /// Otherwise, the answer to another program would wait behind everything in the socket.
    @Test func callsDoNotStartWhileTheBusReadsNoAnswers() async throws {
        try await withPair { (pair: Pair) async throws in
            let gate = try Pipe()
            pair.service.loop.execute {
                var byte: UInt8 = 0
                _ = Glibc.read(gate.readEnd.rawValue, &byte, 1)
            }
            let calls = await Caller(pair.client).inOrder(0..<2000) { _ in
                try await pair.client.call(Echo.string, on: Echo.object, "x", timeout: nil)
            }
            try await eventually(await pair.client.callsInFlight) { $0 >= calls.count }
            // Once the bus answers this call, it has all the others.
            _ = try await pair.client.names()
            do {
                kill(pair.bus.pid, SIGSTOP)
                defer { kill(pair.bus.pid, SIGCONT) }
                #expect(Glibc.write(gate.writeEnd.rawValue, "x", 1) == 1)
                try await eventually(within: .seconds(20), await Self.waitsForSocket(pair.service)) { $0 }
                try await eventually(within: .seconds(20), await pair.service.waitingCalls) { $0 > 50 }
            }
            for call in calls { #expect(try await call.value == "x") }
        }
    }

    @Test func callsWithoutAWaiterAreNotKept() async throws {
        try await withRawPeer(queuedBytes: 1 << 16) { _, server, peer in
            try await fill(server, untilQueued: 1)
            for _ in 0..<10 {
                let calls = await Caller(server).inOrder(0..<100) { _ in
                    try await server.call(Echo.string, on: RemoteObject(nil, "/"), "", timeout: nil)
                }
                try await eventually(await server.callsInFlight) { $0 >= 100 }
                for call in calls { call.cancel() }
                for call in calls { await #expect(throws: CallError.cancelled) { try await call.value } }
                #expect(await server.queuedMessages < 300)
            }
            #expect(await server.state == .open)
        }
    }

    @Test func cancelledSenderStopsWaiting() async throws {
        try await withRawPeer(queuedBytes: 1 << 16) { _, server, peer in
            try await fill(server, untilQueued: 1)
            let room = Task { await server.waitForRoom() }
            let end = Task { await server.waitUntilClosed() }
            for _ in 0..<10 { await server.loop.run {} }
            room.cancel()
            end.cancel()
            await room.value
            #expect(await end.value == nil)
            #expect(await server.queuedMessages >= 1)
        }
    }

    @Test func limitsThatAllowNoMessageAreRaised() async throws {
        var limits = ConnectionLimits()
        for bytes in [Int.min, -1, 0, 1000] {
            limits.queuedBytes = bytes
            limits.messageBytes = bytes
            limits.bodyBytes = max(bytes, 1000)
            try await withPeers(limits: limits) { (_, client, _) async throws in
                #expect(try await client.call(Echo.string, on: RemoteObject(nil, Echo.path), "a") == "a")
            }
        }
        limits.bodyBytes = -1
        #expect(limits.bodyBytes == 0)
        limits.queuedBytes = .max
        #expect(limits.unreadBytes > limits.queuedBytes)
    }
}
