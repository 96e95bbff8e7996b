import Glibc
import PrivateBus
import Reactor
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(10))) struct AccountTests {
    private static let interface: InterfaceName = "com.example.Hold1"
    private static let hold = Method<Arguments<String, [UnixFD]>, Empty>(interface, "Hold")
    private static let object = RemoteObject(Echo.name, "/hold")

    /// The calls of the method that have begun, those that have ended, and the end of all of them.
    private typealias Held = (
        calls: AsyncStream<(BusName?, [UnixFD])>, ends: AsyncStream<Void>, release: AsyncStream<Void>.Continuation
    )

    /// Exports a method that answers when the returned continuation is finished, and tells each call and each end.
    private static func exportHold(on service: Connection) async -> Held {
        let (calls, call) = AsyncStream.makeStream(of: (BusName?, [UnixFD]).self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let (gate, release) = AsyncStream.makeStream(of: Void.self)
        let opening = Task { for await _ in gate {} }
        let exported = ExportedInterface(
            interface,
            [
                .method(hold) { incoming, input in
                    call.yield((incoming.sender, input.values.1))
                    await opening.value
                    // The method keeps its descriptors to its end.
                    withExtendedLifetime(input) { _ = end.yield() }
                    return Empty()
                }
            ]
        )
        await service.export([exported], at: "/hold")
        return (calls, ends, release)
    }

    private static func start(_ client: Connection, _ descriptors: [UnixFD] = []) -> Task<Empty, any Error> {
        Task { try await client.call(hold, on: object, Arguments("", descriptors), timeout: nil) }
    }

    @Test func connectionsOfOneAccountShareItsPart() async throws {
        var limits = ConnectionLimits()
        limits.calls = 8
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            let third = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            let (calls, _, release) = await Self.exportHold(on: pair.service)
            var arrivals = calls.makeAsyncIterator()
            var held: [Task<Empty, any Error>] = []
            for client in [pair.client, pair.client, other, other] {
                held.append(Self.start(client))
                let sender = try #require(await arrivals.next()?.0)
                // Only the calls that come before the account is known count to the connection.
                await pair.service.setAccount("program", of: sender)
            }
            for client in [pair.client, other] {
                await #expect(throws: CallError.self) { try await client.call(Echo.string, on: Echo.object, "") }
            }
            // Another program has its part.
            #expect(try await third.call(Echo.string, on: Echo.object, "a") == "a")
            release.finish()
            for call in held { _ = try await call.value }
            #expect(try await other.call(Echo.string, on: Echo.object, "b") == "b")
            await other.close()
            await third.close()
            other.loop.stop()
            third.loop.stop()
        }
    }

    @Test func callerThatLeavesGivesBackWhatItsCallsUse() async throws {
        var limits = ConnectionLimits()
        limits.calls = 8
        limits.descriptors = 4
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let leaving = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            let (calls, ends, release) = await Self.exportHold(on: pair.service)
            var arrivals = calls.makeAsyncIterator()
            var ending = ends.makeAsyncIterator()
            let pipe = try Pipe()
            let call = Self.start(leaving, [pipe.writeEnd])
            let (name, descriptors) = try #require(await arrivals.next())
            let sender = try #require(name)
            await pair.service.setAccount("program", of: sender)
            #expect(descriptors.map { fcntl($0.rawValue, F_GETFD) } == [FD_CLOEXEC])
            let (gone, leave) = AsyncStream.makeStream(of: Void.self)
            _ = try await pair.service.watchName(sender) { _, _ in leave.finish() }
            await leaving.close()
            await #expect(throws: CallError.self) { try await call.value }
            for await _ in gone {}
            #expect(descriptors.map(\.rawValue) == [-1])
            #expect(await pair.service.hasFreeAccounts)
            // The call itself continues, and a late account does no harm.
            await pair.service.setAccount("program", of: sender)
            release.finish()
            #expect(await ending.next() != nil)
            await pair.service.waitUntilAnswered()
            #expect(await pair.service.hasFreeAccounts)
            leaving.loop.stop()
        }
    }

    @Test(arguments: [Int.min, .max]) func extremeLimitsDoNoHarm(_ extreme: Int) {
        var limits = ConnectionLimits()
        limits.calls = extreme
        limits.argumentBytes = extreme
        limits.descriptors = extreme
        limits.unreadAnswerBytes = extreme
        let accounts = IncomingCalls(limits).accounts
        let excess = accounts.take(CallLoad(bytes: 100, descriptors: 1), for: .named("a"))
        let mayWait = accounts.addRefused(to: .named("a"))
        #expect((excess == nil) == (extreme > 0))
        #expect(mayWait == (extreme > 0))
    }

    @Test func followingTheConnectionsCanFailMoreThanOnce() async throws {
        try await withPair { (pair: Pair) async throws in
            await pair.client.close()
            for _ in 0..<2 {
                await #expect(throws: CallError.disconnected) { try await pair.client.followConnections() }
                #expect(await pair.client.newestConnection == nil)
            }
        }
    }

    @Test func anAccountGetsHalfOfWhatIsLeft() {
        var shares = Shares<String>(limit: 8)
        func fill(_ account: String) -> Int {
            var count = 0
            while shares.refusal(of: account, 1) == nil, shares.take(1, for: account) == nil { count += 1 }
            return count
        }
        #expect(fill("a") == 4)
        #expect(fill("b") == 2)
        #expect(fill("c") == 1)
        #expect(fill("d") == 0)
        for (amount, refusal) in [(1, Shares<String>.Refusal.holdsItsShare), (2, .isFull), (0, nil)] {
            #expect(shares.refusal(of: "d", amount) == refusal)
            #expect(shares.take(amount, for: "d") == refusal)
        }
        shares.remove(4, from: "a")
        #expect(shares["a"] == 0)
        #expect(fill("d") == 2)
        shares.remove(2, from: "b")
        shares.remove(1, from: "c")
        shares.remove(2, from: "d")
        #expect(shares.isEmpty)
    }
}
