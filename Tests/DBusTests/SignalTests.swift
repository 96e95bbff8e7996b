import Glibc
import PrivateBus
import Reactor
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(10))) struct SignalTests {
    @Test func subscriberGetsSignalsInOrder() async throws {
        try await withPair { (pair: Pair) async throws in
            let signals = try await pair.client.signals(Echo.played, matching: MatchRule(sender: Echo.name))
            for number in 0..<50 as Range<UInt32> {
                try await pair.service.emit(Echo.played, from: Echo.path, Arguments("ß", number))
            }
            var iterator = signals.makeAsyncIterator()
            for number in 0..<50 as Range<UInt32> {
                let signal = try #require(await iterator.next())
                #expect(signal.body.values == ("ß", number))
                #expect(signal.path == Echo.path)
                #expect(signal.sender == pair.service.uniqueName)
                #expect(signal.lost == 0)
            }
        }
    }

    @Test func argumentsAreComparedByBytes() async throws {
        try await withPair { (pair: Pair) async throws in
            let (composed, decomposed) = ("\u{E9}", "e\u{301}")
            let first = try await pair.client.signals(Echo.played, matching: MatchRule(arguments: [0: composed]))
            let second = try await pair.client.signals(Echo.played, matching: MatchRule(arguments: [0: decomposed]))
            try await pair.service.emit(Echo.played, from: Echo.path, Arguments(composed, 1))
            try await pair.service.emit(Echo.played, from: Echo.path, Arguments(decomposed, 2))
            var iterator = first.makeAsyncIterator()
            #expect(await iterator.next()?.body.values.1 == 1)
            iterator = second.makeAsyncIterator()
            #expect(await iterator.next()?.body.values.1 == 2)
        }
    }

    @Test func endedConnectionDeliversNoSignals() async throws {
        try await withPair { (pair: Pair) async throws in
            await pair.client.close()
            await #expect(throws: CallError.self) { _ = try await pair.client.signals(Echo.played) }
        }
    }

    @Test func eachRuleFiltersIndependently() async throws {
        try await withPair { (pair: Pair) async throws in
            let all = try await pair.client.signals(Echo.played)
            var narrow: [SignalSequence<Arguments<String, UInt32>>] = []
            for rule in [
                MatchRule(sender: Echo.name), MatchRule(sender: pair.service.uniqueName),
                MatchRule(path: "/a/b"), MatchRule(pathNamespace: "/a/b"),
                MatchRule(arguments: [0: "it's"]),
            ] { narrow.append(try await pair.client.signals(Echo.played, matching: rule)) }
            func emit(_ connection: Connection, _ path: ObjectPath, _ title: String, _ number: UInt32) async throws {
                try await connection.emit(Echo.played, from: path, Arguments(title, number))
            }
            try await emit(pair.client, "/a", "x", 1)
            try await emit(pair.client, "/a/bc", "it's", 2)
            try await emit(pair.client, "/a/b/c", "x", 3)
            // The subscriber gets the signals of both connections in the order in which the bus received them.
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "") == "")
            try await emit(pair.service, "/a/b", "x", 4)
            try await emit(pair.service, "/end", "it's", 5)
            var iterator = all.makeAsyncIterator()
            for number in 1...5 as ClosedRange<UInt32> { #expect(await iterator.next()?.body.values.1 == number) }
            let expected: [[UInt32]] = [[4, 5], [4, 5], [4], [3, 4], [2, 5]]
            for (sequence, numbers) in zip(narrow, expected) {
                var iterator = sequence.makeAsyncIterator()
                for number in numbers { #expect(await iterator.next()?.body.values.1 == number) }
            }
        }
    }

    @Test func fullBufferDropsTheOldestSignalsAndCountsThem() async throws {
        try await withPair { (pair: Pair) async throws in
            let signals = try await pair.client.signals(Echo.played, capacity: 3)
            for number in 0..<10 as Range<UInt32> {
                try await pair.service.emit(Echo.played, from: "/", Arguments("", number))
            }
            // The answer arrives after the signals.
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "") == "")
            var iterator = signals.makeAsyncIterator()
            let first = try #require(await iterator.next())
            #expect((first.body.values.1, first.lost) == (7, 7))
            let second = try #require(await iterator.next())
            #expect((second.body.values.1, second.lost) == (8, 0))
        }
    }

    @Test func signalsOfOtherTypesAreSkipped() async throws {
        try await withPair { (pair: Pair) async throws in
            let signals = try await pair.client.signals(Echo.played)
            try await pair.service.emit(Signal<String>(Echo.interface, "Played"), from: "/", "only a title")
            try await pair.service.emit(Echo.played, from: "/", Arguments("both", 1))
            var iterator = signals.makeAsyncIterator()
            #expect(await iterator.next()?.body.values.0 == "both")
        }
    }

    @Test func matchRuleIsRemovedWithItsLastSubscriber() async throws {
        try await withPair { (pair: Pair) async throws in
            var first: SignalSequence<Arguments<String, UInt32>>? = try await pair.client.signals(Echo.played)
            var second: SignalSequence<Arguments<String, UInt32>>? = try await pair.client.signals(Echo.played)
            #expect(await pair.client.matches.rules.values.map(\.users) == [2])
            withExtendedLifetime(first) {}
            first = nil
            await pair.client.turn()
            #expect(await pair.client.matches.rules.values.map(\.users) == [1])
            withExtendedLifetime(second) {}
            second = nil
            await pair.client.turn()
            #expect(await pair.client.matches.rules.isEmpty)
            let third = try await pair.client.signals(Echo.played)
            try await pair.service.emit(Echo.played, from: "/", Arguments("again", 1))
            var iterator = third.makeAsyncIterator()
            #expect(await iterator.next()?.body.values.0 == "again")
        }
    }

    @Test func sequenceEndsWithItsTaskAndWithItsConnection() async throws {
        try await withPair { (pair: Pair) async throws in
            let signals = try await pair.client.signals(Echo.played)
            let waiting = (0..<3).map { _ in
                Task { () -> Bool in
                    for await _ in signals { return true }
                    return false
                }
            }
            waiting[0].cancel()
            #expect(await waiting[0].value == false)
            try await pair.service.emit(Echo.played, from: "/", Arguments("", 1))
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "") == "")
            await pair.client.close()
            let got = [await waiting[1].value, await waiting[2].value]
            #expect(got.count { $0 } == 1)
        }
    }

    @Test func subscriptionFollowsTheOwnerOfAName() async throws {
        try await withPair { (pair: Pair) async throws in
            let name: BusName = "com.example.Moving"
            let all = try await pair.client.signals(Echo.played)
            let signals = try await pair.client.signals(Echo.played, matching: MatchRule(sender: name))
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            try await pair.service.emit(Echo.played, from: "/", Arguments("nobody", 0))
            #expect(try await pair.service.requestName(name) == .owned)
            try await pair.service.emit(Echo.played, from: "/", Arguments("service", 0))
            try await pair.service.releaseName(name)
            #expect(try await other.requestName(name) == .owned)
            try await pair.service.emit(Echo.played, from: "/", Arguments("nobody", 0))
            #expect(try await pair.service.call(Echo.string, on: Echo.object, "") == "")
            try await other.emit(Echo.played, from: "/", Arguments("other", 0))
            var iterator = signals.makeAsyncIterator()
            #expect(await iterator.next()?.body.values.0 == "service")
            #expect(await iterator.next()?.body.values.0 == "other")
            withExtendedLifetime(all) {}
            await other.close()
            other.loop.stop()
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct BusNameTests {
    @Test func answersArriveBeforeTheOwnerLeaves() async throws {
        try await withPair { (pair: Pair) async throws in
            for round in 0..<20 {
                let name: BusName = "com.example.Leaving"
                let service = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
                await service.export([Echo.exported()], at: Echo.path)
                #expect(try await service.requestName(name) == .owned)
                let owner = try #require(service.uniqueName)
                let (events, log) = AsyncStream.makeStream(of: String.self)
                let watch = try await pair.client.watchName(name) { old, new in
                    if old == owner, new == nil { log.yield("left") }
                }
                let call = Task {
                    let answer = try await pair.client.call(Echo.string, on: RemoteObject(name, Echo.path), "\(round)")
                    log.yield("answered")
                    return answer
                }
                #expect(try await call.value == "\(round)")
                await service.close()
                service.loop.stop()
                var iterator = events.makeAsyncIterator()
                #expect(await iterator.next() == "answered")
                #expect(await iterator.next() == "left")
                try await pair.client.unwatchName(watch)
                #expect(try await pair.client.owner(of: name) == nil)
            }
        }
    }

    @Test func watchesRunInOrderAndMayEndEachOther() async throws {
        try await withPair { (pair: Pair) async throws in
            let name: BusName = "com.example.Watched"
            let client = pair.client
            let (events, log) = AsyncStream.makeStream(of: Int.self)
            let second = Lock<NameWatchID?>(nil)
            let first = try await client.watchName(name) { _, new in
                log.yield(1)
                guard new == nil, let id = second.withLock({ $0 }) else { return }
                client.assumeIsolated { connection in
                    do { try connection.unwatchName(id) } catch { log.yield(-1) }
                }
            }
            let id = try await client.watchName(name) { _, _ in log.yield(2) }
            second.withLock { $0 = id }
            let last = try await client.watchName(name) { _, _ in log.yield(3) }
            #expect(try await pair.service.requestName(name) == .owned)
            try await pair.service.releaseName(name)
            var iterator = events.makeAsyncIterator()
            for expected in [1, 2, 3, 1, 3] { #expect(await iterator.next() == expected) }
            // Ending a watch twice does not end another watch.
            for watch in [first, first, id, last] { try await client.unwatchName(watch) }
            let next = try await client.watchName(name) { _, _ in log.yield(4) }
            for watch in [first, id, last] { try await client.unwatchName(watch) }
            #expect(try await pair.service.requestName(name) == .owned)
            #expect(await iterator.next() == 4)
            try await client.unwatchName(next)
            #expect(await client.matches.rules.isEmpty)
        }
    }

    @Test func namesAreOwnedAndReleased() async throws {
        try await withPair { (pair: Pair) async throws in
            #expect(try await pair.client.owner(of: Echo.name) == pair.service.uniqueName)
            #expect(try await pair.service.requestName(Echo.name) == .owned)
            #expect(try await pair.client.requestName(Echo.name) == .taken)
            try await pair.service.releaseName(Echo.name)
            try await pair.service.releaseName(Echo.name)
            #expect(try await pair.client.owner(of: Echo.name) == nil)
        }
    }

    @Test func credentialsComeFromTheBus() async throws {
        try await withPair { (pair: Pair) async throws in
            let credentials = try await pair.client.credentials(of: Echo.name)
            #expect(credentials.pid == UInt32(getpid()))
            #expect(credentials.uid == getuid())
            do throws(CallError) {
                _ = try await pair.client.credentials(of: "com.example.Nobody")
                Issue.record("nobody has credentials")
            } catch .remote(let error) {
                #expect(error.name == .nameHasNoOwner)
            }
        }
    }
}

extension Connection {
    /// Returns after the loop has run all earlier jobs.
    func turn() async {
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
    }
}
