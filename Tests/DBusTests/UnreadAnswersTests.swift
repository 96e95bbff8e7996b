import Glibc
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

/// The bytes that callers leave unread in the bus, which counts the bytes to the service.
@Suite(.timeLimit(.minutes(10))) struct UnreadAnswersTests {
    private static let fill = Method<UInt32, String>("com.example.Fill1", "Fill", inputs: ["bytes"])
    private static let filled = Signal<String>("com.example.Fill1", "Filled", arguments: ["text"])
    private static let object = RemoteObject(Echo.name, "/fill")
    private static let million: UInt32 = 1 << 20

    /// Exports a method that answers with a text of a size, and counts its calls.
    private static func exportFill(on service: Connection) async -> Lock<Int> {
        let count = Lock(0)
        let interface = ExportedInterface(
            "com.example.Fill1",
            [
                .method(fill) { _, bytes in
                    count.withLock { $0 += 1 }
                    return String(repeating: "x", count: Int(bytes))
                }
            ]
        )
        await service.export([interface], at: "/fill")
        return count
    }

    /// Blocks a loop until a byte is written into the returned pipe.
    private static func block(_ loop: EventLoop) throws -> Pipe {
        let gate = try Pipe()
        loop.execute {
            var byte: UInt8 = 0
            _ = Glibc.read(gate.readEnd.rawValue, &byte, 1)
        }
        return gate
    }

    private static func open(_ gate: Pipe) {
        #expect(Glibc.write(gate.writeEnd.rawValue, "x", 1) == 1)
    }

    private static var limits: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.unreadAnswerBytes = 8 << 20
        return limits
    }

    /// Calls the body when a program has called and reads no answer. Later the program reads.
    private static func withBlockedCaller(
        calls count: UInt32,
        _ body: (Pair, _ caller: BusName, _ answered: Lock<Int>) async throws -> Void
    ) async throws {
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            try await pair.service.followConnections()
            let answered = await exportFill(on: pair.service)
            let caller = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            let serviceGate = try block(pair.service.loop)
            let calls = await Caller(caller).inOrder(0..<count) { (_: UInt32) async throws in
                _ = try await caller.call(Self.fill, on: Self.object, Self.million, timeout: nil)
            }
            try await eventually(await caller.callsInFlight) { $0 >= Int(count) }
            // The bus has the calls when it has answered the next one.
            _ = try await caller.names()
            let callerGate = try block(caller.loop)
            Self.open(serviceGate)
            let name = try #require(caller.uniqueName)
            try await eventually(await pair.service.isHeld(name)) { $0 }
            // A call that had started before runs before a later call of another program.
            _ = try await pair.client.call(Echo.string, on: Echo.object, "x")
            try await body(pair, name, answered)
            // The calls that wait until the program reads do not keep the service from exiting.
            await pair.service.waitUntilAnswered()
            #expect(await pair.service.isHeld(name))
            Self.open(callerGate)
            for call in calls { try await call.value }
            #expect(answered.withLock { $0 } >= Int(count))
            try await eventually(await pair.service.isHeld(name)) { !$0 }
            await caller.close()
        }
    }

    @Test func callsOfAProgramThatDoesNotReadWaitUntilItReads() async throws {
        try await Self.withBlockedCaller(calls: 64) { pair, _, answered in
            // Half of the limit, and what was sent while the bus was asked.
            let before = answered.withLock { $0 }
            #expect(before < 32)
            // Others are served meanwhile.
            for _ in 0..<8 { _ = try await pair.client.call(Self.fill, on: Self.object, Self.million) }
            #expect(answered.withLock { $0 } == before + 8)
        }
    }

    /// Returns the bytes that wait in the bus for a connection, after the earlier messages of the service.
    private static func unread(of name: BusName, _ service: Connection) async throws -> UInt32 {
        let statistics = try await service.call(BusDriver.getStatistics, on: BusDriver.object, name.rawValue)
        guard case .uint32(let bytes) = try #require(statistics["OutgoingBytes"]) else { return 0 }
        return bytes
    }

    @Test func signalsToAProgramThatDoesNotReadAreDropped() async throws {
        try await Self.withBlockedCaller(calls: 16) { pair, caller, _ in
            let before = try await Self.unread(of: caller, pair.service)
            #expect(before > 4 << 20)
            try await pair.service.emit(Self.filled, from: "/fill", to: caller, String(repeating: "x", count: 100_000))
            #expect(try await Self.unread(of: caller, pair.service) == before)
        }
    }

    @Test func programThatLeavesUnreadAnswersGivesEverythingBack() async throws {
        try await withPair(serviceLimits: Self.limits) { (pair: Pair) async throws in
            try await pair.service.followConnections()
            let answered = await Self.exportFill(on: pair.service)
            let (named, name) = AsyncStream.makeStream(of: BusName.self)
            let watch = ExportedInterface(
                "com.example.Name1",
                [
                    .method(Method<Empty, Empty>("com.example.Name1", "Tell")) { call, _ in
                        if let sender = call.sender { name.yield(sender) }
                        return Empty()
                    }
                ]
            )
            await pair.service.export([watch], at: "/name")
            var peer: RawPeer? = try RawPeer(pair.bus.address)
            try peer?.authenticate()
            peer?.write(Self.call(1, "/", "org.freedesktop.DBus", "org.freedesktop.DBus", "Hello"))
            peer?.write(Self.call(2, "/name", Echo.name.rawValue, "com.example.Name1", "Tell"))
            let size = withUnsafeBytes(of: Self.million.littleEndian) { Array($0) }
            for serial in 3..<35 as Range<UInt32> {
                peer?.write(Self.call(serial, "/fill", Echo.name.rawValue, "com.example.Fill1", "Fill", "u", size))
            }
            var names = named.makeAsyncIterator()
            let sender = try #require(await names.next())
            try await eventually(await pair.service.isHeld(sender)) { $0 }
            #expect(answered.withLock { $0 } < 32)
            peer = nil
            try await eventually(await pair.service.hasNoCalls) { $0 }
            #expect(await !pair.service.isHeld(sender))
            #expect(await pair.service.waitingCalls == 0)
        }
    }

    @Test func reportOfUnreadBytesIsRead() {
        #expect(UnreadReport(["OutgoingBytes": .uint32(7)]) == .bytes(7))
        #expect(UnreadReport(["OutgoingBytes": .string("7")]) == .never)
        #expect(UnreadReport([:]) == .never)
        #expect(UnreadReport(.remote(RemoteError(.nameHasNoOwner, ""))) == .bytes(0))
        #expect(UnreadReport(.remote(RemoteError(.unknownMethod, ""))) == .never)
        #expect(UnreadReport(.remote(RemoteError("org.freedesktop.DBus.Error.AccessDenied", ""))) == .never)
        #expect(UnreadReport(.remote(RemoteError(.limitsExceeded, ""))) == .unknown)
        #expect(UnreadReport(.timedOut) == .unknown)
        #expect([UnreadReport.bytes(7), .never, .unknown].map(\.bytes) == [7, 0, nil])
    }

    private static func call(
        _ serial: UInt32,
        _ path: String,
        _ destination: String,
        _ interface: String,
        _ member: String,
        _ signature: String = "",
        _ body: [UInt8] = []
    ) -> [UInt8] {
        var fields: [RawMessage.Field] = [.path(path), .text(2, interface), .text(3, member), .text(6, destination)]
        if !signature.isEmpty { fields.append(.signature(signature)) }
        return RawMessage.bytes(1, serial, fields, body: body)
    }
}
