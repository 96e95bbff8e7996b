import CDBus
import Glibc
import PrivateBus
import Reactor
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(10))) struct OwnershipTests {
    @Test func releasedDescriptorBelongsToTheCaller() throws {
        let pipe = try Pipe()
        let message = try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), pipe.writeEnd, limit: 4096))
        func taken() throws -> CInt? {
            let received: UnixFD = try message.contents(limit: .max)
            let other = received
            let descriptor = received.take()
            #expect(other.rawValue == -1)
            #expect(other.take() == nil)
            return descriptor
        }
        let descriptor = try #require(try taken())
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        close(descriptor)
    }

    @Test func addressesAreEscapedLikeInLibdbus() throws {
        let all = String(String.UnicodeScalarView((1...0x17F).compactMap(Unicode.Scalar.init)))
        let expected = try #require(dbus_address_escape_value(all))
        defer { dbus_free(expected) }
        #expect(BusAddress.escaped(all) == String(cString: expected))
        #expect(BusAddress.unix(path: "/tmp/a,b;c=d e") == .address("unix:path=/tmp/a%2cb%3bc%3dd%20e"))
    }

    @Test func directoryNamesMayContainAnyCharacter() async throws {
        var template = Array("/tmp/a,b;c=d e%41XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let directory = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        let loop = try EventLoop()
        let listener = try await PeerListener.listen(at: "unix:dir=\(BusAddress.escaped(directory))", on: loop) {
            $0.export([Echo.exported()], at: Echo.path)
        }
        let client = try await Connection.open(peer: listener.address, on: loop)
        #expect(try await client.call(Echo.string, on: RemoteObject(nil, Echo.path), "a") == "a")
        await client.close()
        await listener.close()
        loop.stop()
        #expect(rmdir(directory) == 0)
    }
}

/// The owner changes that the bus reports to a subscriber, and their order.
@Suite(.timeLimit(.minutes(10))) struct OwnerChangeTests {
    @Test func ownerChangeAfterTheAnswerWins() async throws {
        try await withPair { (pair: Pair) async throws in
            let name: BusName = "com.example.Moving"
            let rule = MatchRule(sender: name)
            #expect(try await pair.service.requestName(name) == .owned)
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            // The bus already has both rules, so the next subscriber only asks for the owner.
            let first = try await pair.client.signals(Echo.played, matching: rule)
            let (events, log) = AsyncStream.makeStream(of: Void.self)
            let gate = try Pipe()
            let subscribing = await pair.client.loop.run { [client = pair.client] in
                let subscribing = Task(executorPreference: client.loop) {
                    try await client.signals(Echo.played, matching: rule)
                }
                // The loop blocks until both the answer and the change after the answer can be read.
                client.onceWaitingForAnswer { connection in
                    let answer = connection.waitForBytes(above: 0)
                    log.yield()
                    var byte: UInt8 = 0
                    _ = read(gate.readEnd.rawValue, &byte, 1)
                    _ = connection.waitForBytes(above: answer)
                }
                return subscribing
            }
            var iterator = events.makeAsyncIterator()
            await iterator.next()
            try await pair.service.releaseName(name)
            #expect(try await other.requestName(name) == .owned)
            #expect(write(gate.writeEnd.rawValue, "x", 1) == 1)
            let second = try await subscribing.value
            try await other.emit(Echo.played, from: "/", Arguments("other", 0))
            #expect(try await other.owner(of: name) == other.uniqueName)
            #expect(try await pair.client.owner(of: name) == other.uniqueName)
            await pair.client.close()
            for sequence in [first, second] {
                var iterator = sequence.makeAsyncIterator()
                #expect(await iterator.next()?.body.values.0 == "other")
            }
            await other.close()
            other.loop.stop()
        }
    }

    @Test func apostropheWithACombiningAccentIsQuoted() async throws {
        try await withPair { (pair: Pair) async throws in
            let text = "it'\u{301}s"
            let signals = try await pair.client.signals(Echo.played, matching: MatchRule(arguments: [0: text]))
            try await pair.service.emit(Echo.played, from: "/", Arguments(text, 1))
            var iterator = signals.makeAsyncIterator()
            #expect(await iterator.next()?.body.values.1 == 1)
        }
    }
}

extension Connection {
    /// Runs `body` between a call, which has been written, and its answer. The loop runs jobs before it reads messages.
    fileprivate nonisolated func onceWaitingForAnswer(_ body: @escaping @Sendable (isolated Connection) -> Void) {
        loop.execute {
            self.assumeIsolated { connection in
                guard connection.callsInFlight > 0 else { return connection.onceWaitingForAnswer(body) }
                // The loop writes after the jobs, and so after this one.
                connection.write()
                body(connection)
            }
        }
    }

    /// Blocks until more than `count` bytes can be read, but no longer than a minute.
    ///
    /// - Returns: The number of bytes that can be read.
    fileprivate func waitForBytes(above count: CInt) -> CInt {
        var available: CInt = 0
        let end = ContinuousClock.now + .seconds(60)
        while available <= count, .now < end {
            guard ioctl(socket, UInt(FIONREAD), &available) == 0 else { return 0 }
            sched_yield()
        }
        return available
    }
}
