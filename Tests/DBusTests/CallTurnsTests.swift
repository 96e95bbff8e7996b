import Glibc
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

/// The order in which calls of other programs start.
@Suite(.timeLimit(.minutes(10))) struct CallTurnsTests {
    private func order(_ turns: CallTurns) -> [UInt64] {
        var turns = turns
        var order: [UInt64] = []
        while let number = turns.next() { order.append(number) }
        #expect(turns.count == 0)
        return order
    }

    @Test func accountsTakeTurns() {
        var turns = CallTurns()
        for number in 1...4 as ClosedRange<UInt64> { turns.add(number, of: .named("many")) }
        turns.add(5, of: .named("few"))
        turns.add(6, of: .sender(":1.7"))
        #expect(turns.count == 6)
        #expect(order(turns) == [1, 5, 6, 2, 3, 4])
    }

    @Test func callsKeepTheirOrderWhenTheirAccountBecomesKnown() {
        var turns = CallTurns()
        turns.add(1, of: .sender(":1.7"))
        turns.add(2, of: .named("program"))
        turns.add(3, of: .sender(":1.7"))
        turns.add(4, of: .named("other"))
        turns.move([1, 3], from: .sender(":1.7"), to: .named("program"))
        turns.move([], from: .sender(":1.8"), to: .named("program"))
        turns.add(5, of: .named("program"))
        #expect(order(turns) == [1, 4, 2, 3, 5])
        #expect(turns.removeAll().sorted() == [1, 2, 3, 4, 5])
        #expect(turns.count == 0)
    }

    @Test func emptyAccountGetsNoSecondPlace() {
        var turns = CallTurns()
        turns.add(1, of: .named("a"))
        #expect(turns.next() == 1)
        turns.add(2, of: .named("b"))
        turns.add(3, of: .named("a"))
        turns.add(4, of: .named("a"))
        #expect(order(turns) == [2, 3, 4])
    }

    @Test func accountThatIsHeldGetsNoTurns() {
        var turns = CallTurns()
        turns.add(1, of: .named("held"))
        turns.add(2, of: .named("a"))
        turns.add(3, of: .named("a"))
        turns.hold(.named("held"), for: .unread)
        turns.hold(.named("held"), for: .unread)
        turns.add(4, of: .named("held"))
        #expect(turns.count == 2)
        #expect(turns.next() == 2)
        turns.release(.named("held"), from: .unread)
        turns.release(.named("held"), from: .unread)
        #expect(turns.count == 3)
        #expect(order(turns) == [3, 1, 4])
        turns.hold(.named("held"), for: .unread)
        #expect(order(turns) == [3])
        #expect(turns.removeAll().sorted() == [1, 3, 4])
    }

    @Test func callsOfAHeldSenderStartWhenItsAccountIsNotHeld() {
        var turns = CallTurns()
        turns.hold(.sender(":1.7"), for: .unread)
        turns.add(1, of: .sender(":1.7"))
        turns.move([1], from: .sender(":1.7"), to: .named("program"))
        #expect(turns.count == 1)
        turns.hold(.named("other"), for: .unread)
        turns.move([1], from: .named("program"), to: .named("other"))
        #expect(turns.count == 0)
        #expect(turns.next() == nil)
        turns.release(.named("other"), from: .unread)
        #expect(turns.next() == 1)
    }

    @Test func callsOfOtherSendersStayInTheirAccountAndOnHold() {
        var turns = CallTurns()
        for number in 1...4 as ClosedRange<UInt64> { turns.add(number, of: .named("old")) }
        turns.hold(.named("old"), for: .pace)
        // The sender's fifth call has started.
        turns.move([2, 4, 5], from: .named("old"), to: .named("new"))
        #expect(turns.count == 2)
        #expect(order(turns) == [2, 4])
        turns.release(.named("old"), from: .pace)
        #expect(turns.count == 4)
        #expect(order(turns) == [2, 1, 4, 3])
    }

    private static let mark = Method<String, Empty>("com.example.Mark1", "Mark", inputs: ["text"])

    /// Exports a method that notes its argument.
    ///
    /// - Parameter work: the time for which each call keeps the loop busy.
    private static func exportMark(on service: Connection, work: Duration = .zero) async -> Lock<[String]> {
        let marks = Lock<[String]>([])
        let interface = ExportedInterface(
            "com.example.Mark1",
            [
                .method(mark) { _, text in
                    let end = ContinuousClock.now + work
                    while .now < end {}
                    marks.withLock { $0.append(text) }
                    return Empty()
                }
            ]
        )
        await service.export([interface], at: "/mark")
        return marks
    }

    private static func mark(_ client: Connection, _ text: String) async throws -> Empty {
        try await client.call(mark, on: RemoteObject(Echo.name, "/mark"), text, timeout: nil)
    }

    /// The call of a program that comes after hundreds of calls of another one does not wait for them.
    @Test func programThatCallsLaterDoesNotWaitForAllEarlierCalls() async throws {
        try await withPair { (pair: Pair) async throws in
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            // Calls that take no time may all start before the bytes behind them are read.
            let marks = await Self.exportMark(on: pair.service, work: .microseconds(500))
            _ = try await other.call(Echo.string, on: Echo.object, "")
            // While the service's loop is blocked, the calls arrive in its socket.
            let gate = try Pipe()
            pair.service.loop.execute {
                var byte: UInt8 = 0
                _ = Glibc.read(gate.readEnd.rawValue, &byte, 1)
            }
            let calls = await Caller(pair.client).inOrder(0..<300) { (number: UInt32) async throws in
                _ = try await Self.mark(pair.client, "\(number)")
            }
            try await eventually(await pair.client.callsInFlight) { $0 >= 300 }
            // The bus has the calls of the first program when it has answered the program's next call.
            _ = try await pair.client.names()
            let late = Task { try await Self.mark(other, "late") }
            try await eventually(await other.callsInFlight) { $0 >= 1 }
            _ = try await other.names()
            #expect(Glibc.write(gate.writeEnd.rawValue, "x", 1) == 1)
            _ = try await late.value
            for call in calls { try await call.value }
            let order = marks.withLock { $0 }
            #expect(order.filter { $0 != "late" } == (0..<300).map(String.init))
            #expect(try #require(order.firstIndex(of: "late")) < 250)
            await other.close()
        }
    }

    @Test func refusedCallsWaitForTheirAnswersToo() async throws {
        var limits = ConnectionLimits()
        limits.calls = 2
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let gate = try Pipe()
            pair.service.loop.execute {
                var byte: UInt8 = 0
                _ = Glibc.read(gate.readEnd.rawValue, &byte, 1)
            }
            let calls = await Caller(pair.client).inOrder(0..<20) { (number: UInt32) async throws in
                _ = try await pair.client.call(Echo.string, on: Echo.object, "\(number)", timeout: nil)
            }
            try await eventually(await pair.client.callsInFlight) { $0 >= 20 }
            _ = try await pair.client.names()
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            #expect(Glibc.write(gate.writeEnd.rawValue, "x", 1) == 1)
            // The service reads this call after the others.
            _ = try await other.call(PeerInterface.ping, on: Echo.object, Empty(), timeout: nil)
            await pair.service.waitUntilAnswered()
            // The next calls make sure that the bus and then the client have all answers.
            _ = try await pair.service.names()
            _ = try await pair.client.names()
            for call in calls { call.cancel() }
            var ends: [String: Int] = [:]
            for call in calls {
                switch await call.result {
                case .success: ends["answered", default: 0] += 1
                case .failure(let error as CallError):
                    if case .remote(let error) = error { ends[error.name.rawValue, default: 0] += 1 }
                    if error == .cancelled { ends["none", default: 0] += 1 }
                case .failure(let error): Issue.record(error)
                }
            }
            // One call is half of what is left, eight wait for an error, and the others get no answer.
            #expect(ends["answered", default: 0] >= 1)
            #expect(ends[ErrorName.limitsExceeded.rawValue, default: 0] >= 8)
            #expect(ends.values.reduce(0, +) == 20)
            await pair.service.waitUntilAnswered()
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "a") == "a")
            await other.close()
        }
    }

    /// The calls of a sender that has left are counted until their turn, and not longer.
    @Test func callsOfASenderThatHasLeftGiveEverythingBack() async throws {
        var limits = ConnectionLimits()
        limits.calls = 4
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            try await pair.service.followConnections()
            let marks = await Self.exportMark(on: pair.service)
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            let gate = try Pipe()
            pair.service.loop.execute {
                var byte: UInt8 = 0
                _ = Glibc.read(gate.readEnd.rawValue, &byte, 1)
            }
            let calls = await Caller(other).inOrder(0..<10) { (number: UInt32) async throws in
                _ = try await Self.mark(other, "\(number)")
            }
            try await eventually(await other.callsInFlight) { $0 >= 10 }
            _ = try await other.names()
            await other.close()
            for call in calls { _ = await call.result }
            #expect(Glibc.write(gate.writeEnd.rawValue, "x", 1) == 1)
            // The answer comes after everything that the bus had for the service.
            _ = try await pair.client.call(Echo.string, on: Echo.object, "")
            await pair.service.waitUntilAnswered()
            // Two calls are half of what is left.
            #expect(marks.withLock { $0 } == ["0", "1"])
            #expect(await pair.service.isWithoutCalls)
        }
    }

    // MARK: Pace

    @Test func accountWithAPaceWaitsForItsNextPeriod() {
        var turns = CallTurns()
        let (start, period) = (ContinuousClock.now, Duration.milliseconds(100))
        for number in 1...5 as ClosedRange<UInt64> { turns.add(number, of: .named("fast")) }
        turns.add(6, of: .named("other"))
        #expect(turns.next() == 1)
        #expect(turns.countStart(of: .named("fast"), limit: 2, period: period, now: start) == nil)
        #expect(turns.next() == 6)
        #expect(turns.next() == 2)
        let end = turns.countStart(of: .named("fast"), limit: 2, period: period, now: start + .milliseconds(50))
        #expect(end == start + period)
        #expect(turns.next() == nil && turns.count == 0)
        // A call that arrives meanwhile waits too, and other accounts go on.
        turns.add(7, of: .named("fast"))
        turns.add(8, of: .named("other"))
        #expect(order(turns) == [8])
        #expect(turns.endPaces(now: start + .milliseconds(99)) == start + period)
        #expect(order(turns) == [8])
        #expect(turns.endPaces(now: start + period) == nil)
        #expect(order(turns) == [8, 3, 4, 5, 7])
    }

    @Test func slowAccountIsNeverHeld() {
        var turns = CallTurns()
        let (start, period) = (ContinuousClock.now, Duration.milliseconds(100))
        for number in 0..<1000 {
            let now = start + .milliseconds(60 * number)
            #expect(turns.countStart(of: .named("slow"), limit: 3, period: period, now: now) == nil)
        }
    }

    /// An account that does not read its answers waits longer than its period.
    @Test func accountIsHeldForEachReason() {
        var turns = CallTurns()
        turns.add(1, of: .named("fast"))
        let now = ContinuousClock.now
        #expect(turns.countStart(of: .named("fast"), limit: 1, period: .seconds(1), now: now) != nil)
        turns.hold(.named("fast"), for: .unread)
        #expect(turns.endPaces(now: now + .seconds(1)) == nil)
        #expect(order(turns) == [])
        turns.release(.named("fast"), from: .unread)
        #expect(order(turns) == [1])
    }

    /// The period of the account has ended, and the timer for it has not fired yet.
    @Test func paceOfAnAccountOnHoldIsKept() {
        var turns = CallTurns()
        let (start, period) = (ContinuousClock.now, Duration.milliseconds(100))
        turns.add(1, of: .named("fast"))
        #expect(turns.countStart(of: .named("fast"), limit: 1, period: period, now: start) == start + period)
        for number in 0..<200 {
            _ = turns.countStart(of: .named("\(number)"), limit: 100, period: period, now: start + period)
        }
        #expect(order(turns) == [])
        _ = turns.endPaces(now: start + period)
        #expect(order(turns) == [1])
    }

    @Test func pacesOfAccountsThatHaveLeftAreForgotten() {
        var turns = CallTurns()
        let start = ContinuousClock.now
        for number in 0..<10_000 {
            let now = start + .milliseconds(10 * number)
            _ = turns.countStart(of: .sender(BusName(":1.\(number)")), limit: 100, period: .milliseconds(100), now: now)
        }
        #expect(turns.paceCount <= 65)
    }
}

extension Connection {
    fileprivate var isWithoutCalls: Bool {
        server.calls.isIdle && server.calls.waiting == 0 && server.calls.accounts.isEmpty
    }
}
