import CDBus
import Foundation
import Glibc
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

/// Connections without a bus whose other end has got a name.
@Suite(.timeLimit(.minutes(10))) struct NamedPeerTests {
    private static let name: BusName = ":peer.1"
    private static let object = RemoteObject(nil, Echo.path)

    /// Runs `body` with a client and the listener's end of the connection, which has named the client.
    private func withNamedPeer(
        limits: ConnectionLimits = ConnectionLimits(),
        _ body: (PeerListener, _ client: Connection, _ server: Connection) async throws -> Void
    ) async throws {
        try await withPeers(limits: limits) { listener, client, accepted in
            var iterator = accepted.makeAsyncIterator()
            let server = try #require(await iterator.next())
            await server.namePeer(Self.name)
            try await body(listener, client, server)
        }
    }

    @Test func nameIsTheSenderWhateverAMessageSays() async throws {
        try await withNamedPeer { listener, client, server in
            #expect(try await client.call(Echo.sender, on: Self.object, Empty()) == ":peer.1")
            #expect(await server.peerName == Self.name && server.uniqueName == nil)
            let forged = try #require(
                dbus_message_new_method_call(nil, Echo.path.rawValue, "com.example.Echo1", "Sender")
            )
            defer { dbus_message_unref(forged) }
            dbus_message_set_sender(forged, ":1.1")
            let connection = try #require(dbus_connection_open_private(listener.address, nil))
            defer {
                dbus_connection_close(connection)
                dbus_connection_unref(connection)
            }
            // This connection has no name, so its sender is nil and not that of the message.
            var error = DBusError()
            dbus_error_init(&error)
            let answer = try #require(dbus_connection_send_with_reply_and_block(connection, forged, 20_000, &error))
            defer { dbus_message_unref(answer) }
            var text: UnsafePointer<CChar>?
            var values = DBusMessageIter()
            try #require(dbus_message_iter_init(answer, &values) != 0)
            dbus_message_iter_get_basic(&values, &text)
            #expect(text.map { String(cString: $0) } == "")
        }
    }

    private static let bus = "org.freedesktop.DBus"

    /// Runs `body` with a socket that has authenticated, and the listener's end of its connection, which has named the
    /// other end.
    private func withRawPeer(
        limits: ConnectionLimits = ConnectionLimits(),
        _ body: (RawPeer, _ server: Connection) async throws -> Void
    ) async throws {
        try await withPeers(limits: limits) { listener, _, accepted in
            var iterator = accepted.makeAsyncIterator()
            _ = await iterator.next()
            let peer = try RawPeer(listener.address)
            try peer.authenticate()
            let server = try #require(await iterator.next())
            await server.namePeer(Self.name)
            try await body(peer, server)
            await server.close()
        }
    }

    /// The other end cannot leave the accounts while its connection stays open.
    @Test func signalInTheNameOfTheBusIsNotBelieved() async throws {
        try await withRawPeer { peer, server in
            let changes = Lock(0)
            let watch = try await server.watchName(Self.name) { _, _ in changes.withLock { $0 += 1 } }
            var played = try await server.signals(Echo.played).makeAsyncIterator()
            let echo = Echo.interface.rawValue
            peer.write(RawMessage.bytes(1, 1, [.path(Echo.path.rawValue), .text(2, echo), .text(3, "Never")]))
            try await eventually(await server.hasNoCalls) { !$0 }
            try await eventually(await server.waitingCalls) { $0 == 0 }
            peer.write(
                RawMessage.bytes(
                    4,
                    2,
                    [
                        .path("/org/freedesktop/DBus"), .text(2, Self.bus), .text(3, "NameOwnerChanged"),
                        .text(7, Self.bus), .signature("sss"),
                    ],
                    body: RawMessage.string(Self.name.rawValue) + RawMessage.string(Self.name.rawValue)
                        + RawMessage.string("")
                )
            )
            // The next signal comes after the effects of the first.
            peer.write(
                RawMessage.bytes(
                    4,
                    3,
                    [.path("/"), .text(2, echo), .text(3, "Played"), .signature("su")],
                    body: RawMessage.string("abc") + [1, 0, 0, 0]
                )
            )
            #expect(await played.next()?.body.values.1 == 1)
            #expect(await !server.hasFreeAccounts)
            #expect(changes.withLock { $0 } == 0)
            try await server.unwatchName(watch)
        }
    }

    @Test func errorInTheNameOfTheBusIsNotBelieved() async throws {
        try await withRawPeer { peer, server in
            let call = Task(executorPreference: server.loop) {
                try await server.call(Echo.string, on: Self.object, "a")
            }
            // The test may run on the loop's thread, which must not be blocked.
            let arrived = try await eventually(peer.read(4096, flags: Int(MSG_DONTWAIT))) { $0 != nil }
            let sent = try #require(arrived)
            try #require(sent.count > 16)
            let serial = sent[8..<12].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
            let error = ErrorName.serviceUnknown
            peer.write(RawMessage.bytes(3, 1, [.text(4, error.rawValue), .number(5, serial), .text(7, Self.bus)]))
            // The error is not from the bus.
            await #expect(throws: CallError.remote(RemoteError(error, ""))) { try await call.value }
        }
    }

    // MARK: Limits

    private static let fill = Method<Empty, String>("com.example.Fill1", "Fill", outputs: ["text"])
    private static let filling = String(repeating: "x", count: 100_000)

    /// Exports ``fill``, whose calls wait until the returned stream is finished, and counts the calls.
    private static func exportFill(
        on server: Connection,
        at path: ObjectPath = "/fill",
        answer: String = filling
    ) async -> (started: Lock<Int>, gate: AsyncStream<Void>.Continuation) {
        let started = Lock(0)
        let (gate, release) = AsyncStream.makeStream(of: Void.self)
        let opening = Task { for await _ in gate {} }
        let method = ExportedInterface(
            "com.example.Fill1",
            [
                .method(fill) { _, _ in
                    started.withLock { $0 += 1 }
                    await opening.value
                    return answer
                }
            ]
        )
        await server.export([method], at: path)
        return (started, release)
    }

    /// Calls ``fill`` without reading the answers.
    private static func callFill(from peer: RawPeer, times count: UInt32, at path: ObjectPath = "/fill") {
        let fields: [RawMessage.Field] = [
            .path(path.rawValue), .text(2, fill.interface.rawValue), .text(3, fill.name.rawValue),
        ]
        for serial in 1...count { peer.write(RawMessage.bytes(1, serial, fields)) }
    }

    /// A program that does not read must not keep a service from exiting. When the service closes the connection, calls
    /// that have not started never do.
    @Test func callsThatWaitForTheOtherEndToReadAreNotAwaited() async throws {
        try await withRawPeer { peer, server in
            let started = Lock(0)
            let method = ExportedInterface(
                "com.example.Fill1",
                [
                    .method(Self.fill) { _, _ in
                        started.withLock { $0 += 1 }
                        return Self.filling
                    }
                ]
            )
            await server.export([method], at: "/fill")
            Self.callFill(from: peer, times: 100)
            try await eventually(await server.waitingCalls) { $0 > 50 }
            await server.waitUntilAnswered()
            #expect(await server.waitingCalls > 50)
            let before = started.withLock { $0 }
            let closing = Task { await server.close() }
            try await eventually(await server.isOpen) { !$0 }
            // The connection ends when the other end has read the answers.
            try await eventually(await server.state) {
                _ = peer.drain()
                return $0 == .released
            }
            await closing.value
            for _ in 0..<10 { await server.loop.run {} }
            #expect(await server.waitingCalls == 0)
            #expect(started.withLock { $0 } == before)
        }
    }

    /// The other end has most of the answers still to read each time, but it reads.
    @Test func callsOfAProgramThatReadsSlowlyAreAwaited() async throws {
        try await withRawPeer { peer, server in
            let started = Lock(0)
            let method = ExportedInterface(
                "com.example.Fill1",
                [
                    .method(Self.fill) { _, _ in
                        started.withLock { $0 += 1 }
                        return Self.filling
                    }
                ]
            )
            await server.export([method], at: "/fill")
            Self.callFill(from: peer, times: 100)
            try await eventually(await server.waitingCalls) { $0 > 50 }
            // Only this test looks.
            await server.look(every: .seconds(3600))
            let waiting = Task { await server.waitUntilAnswered() }
            try await eventually(await server.isAwaited) { $0 }
            for _ in 0..<3 {
                try await eventually(peer.read(1 << 16, flags: Int(MSG_DONTWAIT))) { $0 != nil }
                await server.lookNow()
                #expect(await server.isAwaited)
            }
            #expect(started.withLock { $0 } < 100)
            try await eventually(await server.isAwaited) {
                _ = peer.drain()
                return !$0
            }
            await waiting.value
            #expect(started.withLock { $0 } == 100)
        }
    }

    /// When the wait begins, the other end has nothing to read, so the first look cannot end it.
    @Test func programThatStopsReadingDuringTheWaitIsNotAwaited() async throws {
        try await withRawPeer { peer, server in
            let (held, heldGate) = await Self.exportFill(on: server, at: "/held", answer: "")
            let (started, gate) = await Self.exportFill(on: server)
            Self.callFill(from: peer, times: 1, at: "/held")
            Self.callFill(from: peer, times: 10)
            try await eventually(held.withLock { $0 } + started.withLock { $0 }) { $0 == 11 }
            await server.look(every: .milliseconds(5))
            let waiting = Task { await server.waitUntilAnswered() }
            try await eventually(await server.isAwaited) { $0 }
            gate.finish()
            try await eventually(await server.countedBytes) { $0 > 0 }
            Self.callFill(from: peer, times: 1)
            try await eventually(await server.waitingCalls) { $0 == 1 }
            #expect(await server.isAwaited)
            heldGate.finish()
            try await eventually(await server.isAwaited) { !$0 }
            await waiting.value
            #expect(await server.waitingCalls == 1)
            try await eventually(await server.countedBytes) {
                _ = peer.drain()
                return $0 == 0
            }
        }
    }

    /// A program must not keep this one busy with calls that want no answer.
    @Test func callsThatWantNoAnswerAreCounted() async throws {
        var limits = ConnectionLimits()
        limits.calls = 2
        try await withRawPeer(limits: limits) { peer, server in
            var pings: [UInt8] = []
            // Eight may wait for their turn. All of them arrive before the first turn.
            for serial in 1...20 as ClosedRange<UInt32> {
                var ping = RawPeer.ping(serial)
                // NO_REPLY_EXPECTED
                ping[2] = 1
                pings += ping
            }
            peer.write(pings)
            #expect(await server.waitUntilClosed() == .unread)
        }
    }

    /// Otherwise, the answers would fill this program's memory. Either the account's share of the limit comes first, or
    /// the room for the answers on one connection.
    @Test(arguments: [(1 << 20, 100_000), (ConnectionLimits().unreadAnswerBytes, 1_000_000)])
    func answersThatTheOtherEndDoesNotReadAreCounted(_ limit: Int, _ size: Int) async throws {
        var limits = ConnectionLimits()
        limits.unreadAnswerBytes = limit
        let room = min(limit / 2, limits.unreadBytes - 2 * limits.queuedBytes)
        try await withRawPeer(limits: limits) { peer, server in
            let (started, gate) = await Self.exportFill(on: server, answer: String(repeating: "x", count: size))
            Self.callFill(from: peer, times: 40)
            try await eventually(started.withLock { $0 }) { $0 == 40 }
            gate.finish()
            await server.waitUntilAnswered()
            let unread = await server.countedBytes
            #expect(unread > room - 2 * size && unread < room + 2 * size, "\(unread)")
            let played = Arguments("abc", UInt32(1))
            #expect(try await !server.emit(Echo.played, from: "/", to: Self.name, played))
            var taken = 0
            try await eventually(await server.countedBytes) {
                taken += peer.drain()
                return $0 == 0
            }
            #expect(taken < room + 10 * size)
            #expect(await server.isOpen)
            #expect(try await server.emit(Echo.played, from: "/", to: Self.name, played))
        }
    }

    /// A caller that gets an error would repeat a call that has been carried out.
    @Test func answersToAnotherConnectionOfTheAccountAreSent() async throws {
        var limits = ConnectionLimits()
        limits.unreadAnswerBytes = 1 << 20
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let directory = FileManager.default.temporaryDirectory.appending(path: "account-\(UUID().uuidString)").path
            mkdir(directory, 0o700)
            let (accepted, accept) = AsyncStream.makeStream(of: Connection.self)
            let listener = try await PeerListener.listen(
                at: "unix:path=\(directory)/socket",
                on: pair.service.loop,
                limits: limits,
                sharingLimitsOf: pair.service
            ) { connection in
                connection.exportObjects(of: pair.service)
                accept.yield(connection)
            }
            var iterator = accepted.makeAsyncIterator()
            let peer = try RawPeer(listener.address)
            try peer.authenticate()
            let unread = try #require(await iterator.next())
            await unread.namePeer(":peer.1")
            let client = try await Connection.open(peer: listener.address, on: pair.bus.makeLoop())
            let server = try #require(await iterator.next())
            await server.namePeer(":peer.2")
            let (started, gate) = await Self.exportFill(on: unread)
            Self.callFill(from: peer, times: 20)
            try await eventually(started.withLock { $0 }) { $0 == 20 }
            _ = try await client.call(Echo.string, on: Self.object, "")
            #expect(await unread.setAccount("program", of: ":peer.1"))
            #expect(await server.setAccount("program", of: ":peer.2"))
            gate.finish()
            await unread.waitUntilAnswered()
            #expect(await unread.isHeld(":peer.1"))
            #expect(await server.isHeld(":peer.2"))
            #expect(try await client.call(Echo.string, on: Self.object, "x") == "x")
            let played = Arguments("abc", UInt32(1))
            var signals = try await client.signals(Echo.played).makeAsyncIterator()
            #expect(try await server.emit(Echo.played, from: "/", to: ":peer.2", played))
            #expect(await signals.next()?.body.values.0 == "abc")
            #expect(try await !unread.emit(Echo.played, from: "/", to: ":peer.1", played))
            try await eventually(await unread.countedBytes) {
                _ = peer.drain()
                return $0 == 0
            }
            #expect(await !server.isHeld(":peer.2"))
            await client.close()
            await listener.close()
            try FileManager.default.removeItem(atPath: directory)
        }
    }

    /// The descriptors would stay open until the rest of the message arrives.
    @Test(arguments: [(8, true), (9, false)])
    func descriptorsBeforeTheRestOfTheirMessageAreCounted(_ count: Int, _ isTaken: Bool) async throws {
        var limits = ConnectionLimits()
        limits.descriptors = 16
        try await withRawPeer(limits: limits) { peer, server in
            let pipe = try Pipe()
            let ping = RawMessage.bytes(
                1,
                1,
                [
                    .path("/"), .text(2, "org.freedesktop.DBus.Peer"), .text(3, "Ping"), .number(9, UInt32(count)),
                ]
            )
            peer.write(Array(ping[..<20]), with: pipe.writeEnd, count: count)
            guard isTaken else {
                #expect(await server.waitUntilClosed() == .disconnected)
                return
            }
            try await eventually(await server.countedDescriptors) { $0 == count }
            peer.write(Array(ping[20...]))
            try await eventually(peer.read(4096, flags: Int(MSG_DONTWAIT))) { $0 != nil }
            #expect(await server.countedDescriptors == 0)
        }
    }

    // MARK: The end

    @Test func endOfTheOtherEndIsToldOnce() async throws {
        try await withNamedPeer { _, client, server in
            let (changes, change) = AsyncStream.makeStream(of: (BusName?, BusName?).self)
            let later = Lock<NameWatchID?>(nil)
            _ = try await server.watchName(Self.name) { old, new in
                change.yield((old, new))
                #expect(throws: Never.self) {
                    try server.assumeIsolated { try $0.unwatchName(#require(later.withLock { $0 })) }
                }
            }
            let third = try await server.watchName(Self.name) { _, _ in Issue.record("the first one ended it") }
            later.withLock { $0 = third }
            let ended = try await server.watchName(Self.name) { _, _ in Issue.record("the watch had ended") }
            try await server.unwatchName(ended)
            _ = try await server.watchName(":peer.2") { _, _ in Issue.record("another name") }
            await client.close()
            _ = await server.waitUntilClosed()
            var iterator = changes.makeAsyncIterator()
            let (old, new) = try #require(await iterator.next())
            #expect(old == Self.name && new == nil)
            change.finish()
            #expect(await iterator.next() == nil)
        }
    }

    /// As on a bus, a call goes on when its caller has exited. Calls that had not started start in their turn.
    @Test func callsContinueAfterTheEndOfTheOtherEnd() async throws {
        try await withNamedPeer { listener, client, server in
            let (starts, started) = AsyncStream.makeStream(of: String.self)
            let (gate, release) = AsyncStream.makeStream(of: Void.self)
            let opening = Task { for await _ in gate {} }
            let note = Method<String, Empty>("com.example.Note1", "Note")
            let method = ExportedInterface(
                "com.example.Note1",
                [
                    .method(note) { _, text in
                        started.yield(text)
                        await opening.value
                        started.yield("\(text) ended, cancelled: \(Task.isCancelled)")
                        return Empty()
                    }
                ]
            )
            await server.export([method], at: "/note")
            let object = RemoteObject(nil, "/note")
            // The other end sends everything before this thread reads.
            let pipe = try Pipe()
            listener.loop.execute {
                var byte: UInt8 = 0
                _ = read(pipe.readEnd.rawValue, &byte, 1)
            }
            for number in 0..<100 {
                try await client.send(note, on: object, "\(number)")
            }
            await client.close()
            #expect(write(pipe.writeEnd.rawValue, "x", 1) == 1)
            var iterator = starts.makeAsyncIterator()
            for number in 0..<100 { #expect(await iterator.next() == "\(number)") }
            _ = await server.waitUntilClosed()
            release.finish()
            var ends: Set<String> = []
            for _ in 0..<100 { ends.insert(try #require(await iterator.next())) }
            #expect(ends == Set((0..<100).map { "\($0) ended, cancelled: false" }))
            await server.waitUntilAnswered()
        }
    }

    /// Only a timer wakes this program for the calls that wait for their next period.
    @Test(arguments: [0, 1]) func callsWithAPaceStartAfterTheEndOfTheOtherEnd(earlier: Int) async throws {
        var limits = ConnectionLimits()
        limits.pacesStrangers = true
        try await withNamedPeer(limits: limits) { listener, client, server in
            // The number of earlier calls decides where the first period ends.
            for _ in 0..<earlier { _ = try await client.call(Echo.string, on: Self.object, "") }
            let (starts, started) = AsyncStream.makeStream(of: UInt32.self)
            let order = Lock<[UInt32]>([])
            let note = Method<UInt32, Empty>("com.example.Note1", "Note")
            let method = ExportedInterface(
                "com.example.Note1",
                [
                    .method(note) { _, number in
                        order.withLock { $0.append(number) }
                        started.yield(number)
                        return Empty()
                    }
                ]
            )
            await server.export([method], at: "/note")
            // The other end sends everything before this thread reads.
            let pipe = try Pipe()
            listener.loop.execute {
                var byte: UInt8 = 0
                _ = read(pipe.readEnd.rawValue, &byte, 1)
            }
            for number in 0..<250 as Range<UInt32> {
                try await client.send(note, on: RemoteObject(nil, "/note"), number)
            }
            await client.close()
            #expect(write(pipe.writeEnd.rawValue, "x", 1) == 1)
            try await starts.next { $0 == 249 }
            #expect(order.withLock { $0 } == Array(0..<250))
            await server.waitUntilAnswered()
        }
    }

    /// The answer to a call, or the refusal of a call too many.
    private static func echo(of client: Connection) async throws(CallError) -> String {
        do throws(CallError) {
            return try await client.call(Echo.string, on: object, "a")
        } catch {
            guard case .remote(let refusal) = error, refusal.name == .limitsExceeded else { throw error }
            return refusal.message
        }
    }

    @Test func connectionsShareTheLimitsOfAnother() async throws {
        var limits = ConnectionLimits()
        limits.calls = 8
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let directory = FileManager.default.temporaryDirectory.appending(path: "named-\(UUID().uuidString)").path
            mkdir(directory, 0o700)
            let numbers = Lock(0)
            let listener = try await PeerListener.listen(
                at: "unix:path=\(directory)/socket",
                on: pair.service.loop,
                sharingLimitsOf: pair.service
            ) { connection in
                let number = numbers.withLock { numbers in
                    numbers += 1
                    return numbers
                }
                connection.namePeer(BusName(trusted: ":peer.\(number)"))
                connection.exportObjects(of: pair.service)
            }
            let clients = [
                try await Connection.open(peer: listener.address, on: pair.bus.makeLoop()),
                try await Connection.open(peer: listener.address, on: pair.bus.makeLoop()),
            ]
            // Half of what is left: four calls on the bus, two on the first connection, one on the second.
            var held: [Task<Empty, any Error>] = []
            for (client, object, count) in [
                (pair.client, Echo.object, 4), (clients[0], Self.object, 2), (clients[1], Self.object, 1),
            ] {
                for _ in 0..<count {
                    held.append(Task { try await client.call(Echo.never, on: object, Empty(), timeout: nil) })
                }
                try await eventually(await client.callsInFlight) { $0 >= count }
                // The answer to a ping comes after the calls before it are counted.
                _ = try await client.call(PeerInterface.ping, on: object, Empty())
                await #expect(throws: CallError.self, "\(count)") {
                    try await client.call(Echo.string, on: object, "")
                }
            }
            // A connection that has gone uses nothing.
            await clients[0].close()
            held[4...5].forEach { $0.cancel() }
            try await eventually(await Self.echo(of: clients[1])) { $0 == "a" }
            for call in held { call.cancel() }
            for client in clients {
                await client.close()
                client.loop.stop()
            }
            await listener.close()
            try FileManager.default.removeItem(atPath: directory)
        }
    }

    @Test func messageAboveTheLimitOfArrivalEndsTheConnectionAndAnAnswerMayBeLarger() async throws {
        var limits = ConnectionLimits()
        limits.callBytes = 100_000
        limits.receivedMessageBytes = 100_000
        try await withNamedPeer(limits: limits) { _, client, server in
            await client.export([Echo.exported()], at: "/client")
            let large = String(repeating: "x", count: 200_000)
            // The sender's own limit comes first, and the connection goes on.
            await #expect(throws: CallError.self) { try await client.call(Echo.string, on: Self.object, large) }
            #expect(try await client.call(Echo.string, on: Self.object, "a") == "a")
            await server.receiveLargeMessages()
            try await client.emit(Echo.played, from: Echo.path, Arguments(large, 1))
            #expect(try await client.call(Echo.string, on: Self.object, "b") == "b")
        }
        try await withNamedPeer(limits: limits) { _, client, server in
            try await client.emit(Echo.played, from: Echo.path, Arguments(String(repeating: "x", count: 200_000), 1))
            #expect(await server.waitUntilClosed() == .disconnected)
        }
    }

    /// The process of the connection is not the process that has its number later, nor one that has gone.
    @Test func processThatHasGoneIsNotTold() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "gone-\(UUID().uuidString)").path
        mkdir(directory, 0o700)
        let (accepted, accept) = AsyncStream.makeStream(of: Connection.self)
        // The child never authenticates, and this test may wait for its turn beside the others.
        let listener = try await PeerListener.listen(
            at: "unix:path=\(directory)/socket",
            on: EventLoop(),
            authenticationTime: .seconds(600)
        ) {
            accept.yield($0)
        }
        // The child keeps the connection, and its parent is gone before the connection is accepted.
        let script = try pythonProgram("connect_and_leave")
        let gate = try Pipe()
        listener.loop.execute {
            var byte: UInt8 = 0
            _ = read(gate.readEnd.rawValue, &byte, 1)
        }
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, "\(directory)/socket"]
        process.environment = [:]
        // The child must not keep the output of the tests open.
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(write(gate.writeEnd.rawValue, "x", 1) == 1)
        var iterator = accepted.makeAsyncIterator()
        let connection = try #require(await iterator.next())
        let credentials = try #require(await connection.peerCredentials)
        #expect(credentials.uid == getuid())
        #expect(credentials.pid == nil)
        // The child ends with its connection.
        await connection.close()
        await listener.close()
        listener.loop.stop()
        try FileManager.default.removeItem(atPath: directory)
    }
}

extension Connection {
    fileprivate var isAwaited: Bool { waiters.contains(.answered) }

    /// Sets the time between two looks at what the other end reads.
    fileprivate func look(every time: Duration) {
        server.readingTime = time
    }

    fileprivate func lookNow() {
        server.look(on: self)
    }
}
