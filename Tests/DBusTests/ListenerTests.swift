import Foundation
import Glibc
import Reactor
import TestSupport
import Testing

@testable import DBus

/// Runs `body` with a listener in a directory that every user may enter.
private func withListener(
    authenticationTime: Duration,
    _ body: (PeerListener, AsyncStream<Connection>) async throws -> Void
) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "listener-\(UUID().uuidString)").path
    mkdir(directory, 0o755)
    let (accepted, accept) = AsyncStream.makeStream(of: Connection.self)
    let listener = try await PeerListener.listen(
        at: "unix:path=\(directory)/socket",
        on: EventLoop(),
        authenticationTime: authenticationTime
    ) { connection in
        connection.export([Echo.exported()], at: Echo.path)
        accept.yield(connection)
    }
    do {
        try await body(listener, accepted)
    } catch {
        Issue.record(error)
    }
    await listener.close()
    listener.loop.stop()
    try FileManager.default.removeItem(atPath: directory)
}

@Suite(.timeLimit(.minutes(10))) struct ListenerTests {
    @Test func unauthenticatedClientIsDisconnected() async throws {
        try await withListener(authenticationTime: .milliseconds(50)) { listener, accepted in
            let peer = try RawPeer(listener.address)
            #expect(peer.read(1) == nil)
            var iterator = accepted.makeAsyncIterator()
            #expect(await iterator.next()?.waitUntilClosed() == .unauthenticated)
        }
    }

    @Test func authenticatedClientStaysConnected() async throws {
        try await withListener(authenticationTime: .seconds(3600)) { listener, accepted in
            var iterator = accepted.makeAsyncIterator()
            let other = try await Connection.open(peer: listener.address, on: EventLoop())
            let server = try #require(await iterator.next())
            await server.endUnlessAuthenticated(within: .zero)
            #expect(try await other.call(Echo.string, on: RemoteObject(nil, Echo.path), "a") == "a")
            await other.close()
            other.loop.stop()
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func otherUserIsDisconnectedBeforeAnyByte() async throws {
        try await withListener(authenticationTime: .seconds(3600)) { listener, accepted in
            let script = try pythonProgram("connect_as_nobody")
            let process = ChildProcess()
            process.executableURL = URL(filePath: "/usr/bin/python3")
            process.arguments = ["-c", script, socketPath(listener.address)]
            let output = Foundation.Pipe()
            process.standardOutput = output
            try process.run()
            let text = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(String(decoding: text, as: UTF8.self) == "0\n")
            // The first accepted connection belongs to this client.
            let own = try await Connection.open(peer: listener.address, on: EventLoop())
            var iterator = accepted.makeAsyncIterator()
            #expect(await iterator.next()?.peerCredentials?.uid == 0)
            await own.close()
            own.loop.stop()
        }
    }

    @Test func listenerWaitsWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors and its own CPU time.
        await #expect(processExitsWith: .success) {
            try await withListener(authenticationTime: .seconds(3600)) { listener, accepted in
                let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
                let taken = TakenDescriptors()
                let before = clock()
                #expect(connectSocket(descriptor, to: socketPath(listener.address)))
                // The loop is free for half a second.
                await withCheckedContinuation { continuation in
                    listener.loop.execute {
                        listener.loop.schedule(at: .now + .milliseconds(500)) { continuation.resume() }
                    }
                }
                #expect(clock() - before < 250_000)
                taken.giveBack()
                var iterator = accepted.makeAsyncIterator()
                #expect(await iterator.next() != nil)
                close(descriptor)
            }
        }
    }

    @Test func callsAreReadWhileOthersWait() async throws {
        try await withListener(authenticationTime: .seconds(3600)) { listener, accepted in
            let peer = try RawPeer(listener.address)
            try peer.authenticate()
            var iterator = accepted.makeAsyncIterator()
            let server = try #require(await iterator.next())
            let (counts, count) = AsyncStream.makeStream(of: Int.self)
            let method = Method<Empty, Empty>("com.example.Counter1", "Count")
            let counter = ExportedInterface(
                "com.example.Counter1",
                [
                    .method(method) { call, _ in
                        count.yield(await call.connection.waitingCalls)
                        return Empty()
                    }
                ]
            )
            await server.export([counter], at: "/")
            let calls = 1500
            var bytes: [UInt8] = []
            for serial in 1...UInt32(calls) {
                let fields = [RawMessage.Field.path("/"), .text(2, "com.example.Counter1"), .text(3, "Count")]
                var call = RawMessage.bytes(1, serial, fields)
                // No answer is expected.
                call[2] = 1
                bytes += call
            }
            // While the loop is blocked, the calls arrive in its socket, which has room for all of them.
            var room = CInt(2 * bytes.count)
            setsockopt(peer.descriptor, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout.size(ofValue: room)))
            let gate = try Pipe()
            listener.loop.execute {
                var byte: UInt8 = 0
                _ = Glibc.read(gate.readEnd.rawValue, &byte, 1)
            }
            let sent = send(peer.descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT))
            #expect(Glibc.write(gate.writeEnd.rawValue, "x", 1) == 1)
            try #require(sent == bytes.count)
            var most = 0
            var iterations = counts.makeAsyncIterator()
            for _ in 0..<calls { most = max(most, await iterations.next() ?? 0) }
            // One turn reads less than 64 KiB, which have room for 700 of these calls.
            #expect(most > 700)
        }
    }

    @Test func firstCallMayCarryADescriptor() async throws {
        try await withListener(authenticationTime: .seconds(3600)) { listener, _ in
            for _ in 0..<20 {
                let client = try await Connection.open(peer: listener.address, on: listener.loop)
                let pipe = try Pipe()
                let copy = try await client.call(Echo.descriptor, on: RemoteObject(nil, Echo.path), pipe.writeEnd)
                #expect(write(copy.rawValue, "x", 1) == 1)
                await client.close()
            }
        }
    }
}
