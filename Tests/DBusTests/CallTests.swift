import Glibc
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(10))) struct CallTests {
    @Test func callReachesAnExportedMethodAndReturnsItsAnswer() async throws {
        try await withPair { (pair: Pair) async throws in
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "ß") == "ß")
            #expect(
                try await pair.client.call(Echo.sender, on: Echo.object, Empty()) == pair.client.uniqueName?.rawValue
            )
            #expect(try await pair.client.requestName(Echo.name) == .taken)
        }
    }

    @Test func roundTripKeepsAnyValue() async throws {
        try await withPair { (pair: Pair) async throws in
            var random = SeededGenerator(seed: 3)
            for _ in 0..<200 {
                let values = (0..<4).map { _ in random.value() }
                #expect(try await pair.client.call(Echo.values, on: Echo.object, values) == values)
            }
        }
    }

    @Test func descriptorCrossesTheBus() async throws {
        try await withPair { (pair: Pair) async throws in
            let pipe = try Pipe()
            let copy = try await pair.client.call(Echo.descriptor, on: Echo.object, pipe.writeEnd)
            #expect(write(copy.rawValue, "x", 1) == 1)
            var byte: UInt8 = 0
            #expect(read(pipe.readEnd.rawValue, &byte, 1) == 1)
        }
    }

    @Test func errorKeepsItsNameAndText() async throws {
        try await withPair { (pair: Pair) async throws in
            for text in ["why", "", "ß€"] {
                await #expect(throws: CallError.remote(RemoteError("com.example.Error.Told", text))) {
                    try await pair.client.call(Echo.fail, on: Echo.object, Arguments("com.example.Error.Told", text))
                }
            }
            await #expect(
                throws: CallError.remote(
                    RemoteError(.failed, "the answer cannot be sent: a string contains a NUL character")
                )
            ) {
                try await pair.client.call(Echo.unprintable, on: Echo.object, Empty())
            }
        }
    }

    @Test func missingTargetsHaveDistinctErrors() async throws {
        try await withPair { (pair: Pair) async throws in
            func errorName<I: MessageBody, O: MessageBody>(
                _ method: Method<I, O>,
                on object: RemoteObject = Echo.object,
                _ input: I
            ) async -> ErrorName? {
                do throws(CallError) {
                    _ = try await pair.client.call(method, on: object, input)
                } catch .remote(let error) {
                    return error.name
                } catch {}
                return nil
            }
            let elsewhere = RemoteObject(Echo.name, "/elsewhere")
            let get = Method<Arguments<String, String>, Value>("org.freedesktop.DBus.Properties", "Get")
            #expect(await errorName(Echo.string, on: elsewhere, "") == .unknownObject)
            #expect(await errorName(Echo.string, on: RemoteObject("com.example.Nobody", "/"), "") == .serviceUnknown)
            #expect(await errorName(Method<Empty, Empty>("com.example.Other", "A"), Empty()) == .unknownInterface)
            #expect(await errorName(Method<Empty, Empty>(Echo.interface, "Missing"), Empty()) == .unknownMethod)
            #expect(await errorName(Method<UInt32, String>(Echo.interface, "String"), 1) == .invalidArguments)
            #expect(await errorName(get, Arguments("com.example.Echo1", "Missing")) == .unknownProperty)
            #expect(await errorName(get, Arguments("com.example.Echo1", "no name")) == .unknownProperty)
            #expect(await errorName(get, Arguments("com.example.Other", "Version")) == .unknownInterface)
            #expect(await errorName(get, Arguments("no interface", "Version")) == .unknownInterface)
            #expect(await errorName(get, Arguments("", "Missing")) == .unknownProperty)
            let noPeer = Method<Empty, Empty>(PeerInterface.name, "NoSuch")
            #expect(await errorName(noPeer, Empty()) == .unknownMethod)
            #expect(await errorName(noPeer, on: elsewhere, Empty()) == .unknownMethod)
        }
    }

    @Test func answerOfAnotherTypeIsAnError() async throws {
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.unexpectedReply(.wrongType(expected: "u", found: "s"))) {
                try await pair.client.call(Method<String, UInt32>(Echo.interface, "String"), on: Echo.object, "1")
            }
        }
    }

    @Test func argumentsAboveTheLimitAreRefused() async throws {
        var limits = ConnectionLimits()
        limits.bodyBytes = 1000
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let limit = RemoteError(.limitsExceeded, "the arguments hold more than 1000 bytes")
            await #expect(throws: CallError.remote(limit)) {
                try await pair.client.call(Echo.string, on: Echo.object, String(repeating: "x", count: 1000))
            }
        }
    }

    @Test func callEndsAtItsDeadline() async throws {
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.timedOut) {
                try await pair.client.call(Echo.never, on: Echo.object, Empty(), timeout: .milliseconds(20))
            }
        }
    }

    @Test func tenThousandCancelledCallsLeakNothing() async throws {
        try await withPair { (pair: Pair) async throws in
            let calls = (0..<10_000).map { _ in
                Task { try await pair.client.call(Echo.never, on: Echo.object, Empty(), timeout: nil) }
            }
            for call in calls { call.cancel() }
            for call in calls {
                await #expect(throws: CallError.cancelled) { try await call.value }
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "after") == "after")
            #expect(await pair.client.callsInFlight == 0)
        }
    }

    @Test func answersKeepTheirOrderForEveryTaskExecutor() async throws {
        try await withPair { (pair: Pair) async throws in
            let answers = Lock<[UInt32]>([])
            let caller = Caller(pair.client)
            let calls = await caller.inOrder(0..<300) { (number: UInt32) async throws in
                _ = try await pair.client.call(Echo.string, on: Echo.object, "")
                answers.withLock { $0.append(number) }
            }
            for call in calls { try await call.value }
            #expect(answers.withLock { $0 } == Array(0..<300))
            let preferring = Task(executorPreference: try pair.bus.makeLoop()) { () async throws -> Void in
                for _ in 0..<100 { #expect(try await pair.client.call(Echo.string, on: Echo.object, "a") == "a") }
            }
            try await preferring.value
        }
    }

    @Test func cancelledTaskSendsNothing() async throws {
        try await withPair { (pair: Pair) async throws in
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await pair.client.call(Echo.string, on: Echo.object, "a")
            }
            await #expect(throws: CallError.cancelled) { try await call.value }
        }
    }

    @Test func deadBusFailsEveryCall() async throws {
        try await withPair { (pair: Pair) async throws in
            let calls = (0..<100).map { _ in
                Task { try await pair.client.call(Echo.never, on: Echo.object, Empty(), timeout: nil) }
            }
            // The bus keeps the order of a connection's messages, so this answer proves that the other messages were
            // sent.
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "") == "")
            pair.bus.stop()
            for call in calls {
                await #expect(throws: CallError.disconnected) { try await call.value }
            }
            await pair.client.waitUntilClosed()
            await pair.service.waitUntilClosed()
            await #expect(throws: CallError.disconnected) {
                try await pair.client.call(Echo.string, on: Echo.object, "")
            }
            await #expect(throws: CallError.disconnected) {
                try await pair.client.emit(Echo.played, from: "/", Arguments("", 0))
            }
        }
    }

    @Test func closeFailsPendingCallsAndWritesSentMessages() async throws {
        try await withPair { (pair: Pair) async throws in
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            let signals = try await pair.client.signals(Echo.played)
            let hanging = Task { try await other.call(Echo.never, on: Echo.object, Empty(), timeout: nil) }
            #expect(try await other.call(Echo.string, on: Echo.object, "") == "")
            let text = String(repeating: "x", count: 500_000)
            for number in 0..<8 as Range<UInt32> {
                try await other.emit(Echo.played, from: "/", Arguments(text, number))
            }
            await other.close()
            await other.close()
            await #expect(throws: CallError.disconnected) { try await hanging.value }
            var iterator = signals.makeAsyncIterator()
            for number in 0..<8 as Range<UInt32> { #expect(await iterator.next()?.body.values.1 == number) }
            other.loop.stop()
        }
    }

    @Test func missingBusIsAnError() async throws {
        let loop = try EventLoop()
        for address in ["unix:path=/nonexistent/bus", "nonsense", "", "a\0b"] {
            await #expect(throws: ConnectionError.self) { try await Connection.open(.address(address), on: loop) }
            #expect(throws: ConnectionError.self) { try BlockingConnection(.address(address)) }
        }
        loop.stop()
    }

    @Test func blockingConnectionCallsMethods() async throws {
        try await withPair { (pair: Pair) async throws in
            let connection = try BlockingConnection(.address(pair.bus.address))
            #expect(try connection.call(Echo.string, on: Echo.object, "a") == "a")
            #expect(throws: CallError.remote(RemoteError("a.b", "c"))) {
                try connection.call(Echo.fail, on: Echo.object, Arguments("a.b", "c"))
            }
            var notices = 0
            #expect(throws: CallError.timedOut) {
                try connection.call(
                    Echo.never,
                    on: Echo.object,
                    Empty(),
                    timeout: .milliseconds(30),
                    noticeAfter: .milliseconds(1)
                ) { notices += 1 }
            }
            #expect(notices == 1)
            #expect(throws: CallError.notSent(.nulInString)) { try connection.call(Echo.string, on: Echo.object, "\0") }
            pair.bus.stop()
            #expect(throws: CallError.disconnected) { try connection.call(Echo.string, on: Echo.object, "") }
        }
    }

    // MARK: Forged answers

    /// Sends answers that nobody asked for to a connection, with the first serials of a connection.
    private func forge(_ attacker: Connection, to victim: BusName) async throws {
        try await attacker.run { attacker in
            for serial: UInt32 in 1...40 {
                let address = ReplyAddress(sender: victim, serial: serial, isExpected: true)
                try attacker.send(.reply(to: address, "forged", limit: 4096))
            }
        }
        // The bus has passed the answers on when it answers this call.
        _ = try await attacker.names()
    }

    @Test func onlyTheOwnerOfTheCalledNameAnswers() async throws {
        try await withPair { (pair: Pair) async throws in
            let held = RemoteObject("com.example.Held", "/held")
            let ask = Method<Empty, String>("com.example.Held1", "Ask")
            let calls = AsyncStream.makeStream(of: CheckedContinuation<String, Never>.self)
            let interface = ExportedInterface(
                "com.example.Held1",
                [
                    .method(ask) { _, _ in await withCheckedContinuation { calls.continuation.yield($0) } }
                ]
            )
            await pair.service.export([interface], at: held.path)
            #expect(try await pair.service.requestName("com.example.Held") == .owned)
            let attacker = try await Connection.open(.address(pair.bus.address), on: EventLoop())
            var arrived = calls.stream.makeAsyncIterator()
            let victim = try #require(pair.client.uniqueName)

            async let answer = pair.client.call(ask, on: held, Empty())
            let call = try #require(await arrived.next())
            try await forge(attacker, to: victim)
            call.resume(returning: "true")
            #expect(try await answer == "true")
            await attacker.close()
            attacker.loop.stop()
        }
    }

    @Test func answersOfALaterOwnerCount() async throws {
        try await withPair { (pair: Pair) async throws in
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "first") == "first")
            let second = try await Connection.open(.address(pair.bus.address), on: EventLoop())
            await second.export([Echo.exported()], at: Echo.path)
            for round in 0..<20 {
                let (old, new) = round % 2 == 0 ? (pair.service, second) : (second, pair.service)
                try await old.releaseName(Echo.name)
                #expect(try await new.requestName(Echo.name) == .owned)
                #expect(try await pair.client.call(Echo.string, on: Echo.object, "\(round)") == "\(round)")
            }
            await second.close()
            second.loop.stop()
        }
    }

    @Test func ownerThatHasGivenTheNameBackStillAnswers() async throws {
        try await withPair { (pair: Pair) async throws in
            let ask = Method<Empty, String>("com.example.Held1", "Ask")
            let interface = ExportedInterface(
                "com.example.Held1",
                [
                    .method(ask) { call, _ in
                        try await call.connection.releaseName("com.example.Held")
                        return "late"
                    }
                ]
            )
            await pair.service.export([interface], at: "/held")
            #expect(try await pair.service.requestName("com.example.Held") == .owned)
            #expect(try await pair.client.call(ask, on: RemoteObject("com.example.Held", "/held"), Empty()) == "late")
            #expect(try await pair.service.requestName("com.example.Held") == .owned)
            let short = try BlockingConnection(.address(pair.bus.address))
            #expect(try short.call(ask, on: RemoteObject("com.example.Held", "/held"), Empty()) == "late")
        }
    }

    /// The bus names the owner while the connection waits.
    @Test func blockingConnectionNoticesTheEndOfAnOwnerThatItDidNotKnow() async throws {
        try await withPair { (pair: Pair) async throws in
            let service = pair.service
            let short = try BlockingConnection(.address(pair.bus.address))
            var isReleased = false
            let end = RemoteError(.noReply, "the program that has the name \(Echo.name) has ended")
            #expect(throws: CallError.remote(end)) {
                try short.wait(
                    forSignalsOf: Echo.name,
                    timeout: .seconds(60),
                    watching: {
                        if short.hasOwner(Echo.name), !isReleased {
                            isReleased = true
                            _ = Task(executorPreference: service.loop) {
                                try await service.releaseName(Echo.name)
                            }
                        }
                        return []
                    },
                    until: { false }
                )
            }
        }
    }

    /// Without the owner of the name no answer can be recognised, and the call would wait for ever.
    @Test(arguments: [
        "<limit name='max_match_rules_per_connection'>0</limit>",
        "<policy context='mandatory'><deny send_interface='org.freedesktop.DBus' send_member='GetNameOwner'/></policy>"
            + "<limit name='max_match_rules_per_connection'>2</limit>",
    ])
    func callOfANameWhoseOwnerTheBusDoesNotTellFails(rules: String) async throws {
        let bus = try await PrivateBus(rules: rules)
        defer { bus.stop() }
        let service = try await Connection.open(.address(bus.address), on: bus.makeLoop())
        await service.export([Echo.exported()], at: Echo.path)
        #expect(try await service.requestName(Echo.name) == .owned)
        let client = try await Connection.open(.address(bus.address), on: bus.makeLoop())
        // Each call fails for the same reason: the failed ones leave no rules on the bus.
        var reasons: Set<CallError> = []
        for _ in 0..<5 {
            do throws(CallError) {
                _ = try await client.call(Echo.string, on: Echo.object, "a", timeout: nil)
                Issue.record("the call has an answer")
            } catch {
                reasons.insert(error)
            }
            let short = try BlockingConnection(.address(bus.address))
            #expect(throws: CallError.self) { try short.call(Echo.string, on: Echo.object, "a", timeout: nil) }
        }
        #expect(reasons.count == 1, "\(reasons)")
    }

    @Test func manyCalledNamesLeaveNoRules() async throws {
        try await withPair { (pair: Pair) async throws in
            let missing = Method<Empty, Empty>("com.example.Nobody1", "A")
            for number in 0..<100 {
                let name = try #require(BusName("com.example.Nobody\(number)"))
                await #expect(throws: CallError.self) {
                    try await pair.client.call(missing, on: RemoteObject(name, "/"), Empty())
                }
            }
            #expect(await pair.client.followedNames <= 17)
        }
    }
}

extension Connection {
    fileprivate func run(_ body: @Sendable (isolated Connection) throws -> Void) rethrows { try body(self) }
    fileprivate var followedNames: Int { pendingCalls.names.count }
}
