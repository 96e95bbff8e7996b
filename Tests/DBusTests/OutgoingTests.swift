import Glibc
import Testing

@testable import DBus

/// The messages on their way to the other end, without a connection.
@Suite struct OutgoingTests {
    private let near: UnixFD
    private let far: UnixFD

    init() throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        near = UnixFD(owning: ends[0])
        far = UnixFD(owning: ends[1])
    }

    private static func limits(queuedBytes: Int) -> ConnectionLimits {
        var limits = ConnectionLimits()
        limits.queuedBytes = queuedBytes
        return limits
    }

    private func write(_ outgoing: inout Outgoing) {
        while !outgoing.isWritten {
            let progress = outgoing.write(to: near.rawValue)
            guard progress == .written else {
                Issue.record("\(progress)")
                return
            }
        }
    }

    @Test func queueWaitsForRoom() throws {
        var outgoing = Outgoing(Self.limits(queuedBytes: 1000))
        let message = try written(String(repeating: "x", count: 800))
        #expect(outgoing.hasRoom(for: message) && outgoing.hasAmpleRoom)
        outgoing.append(message, as: 1)
        #expect(outgoing.hasRoom && !outgoing.hasAmpleRoom)
        outgoing.append(message, as: 2)
        #expect(!outgoing.hasRoom(for: message))
        outgoing.enqueue(.call(7))
        outgoing.enqueue(.message(message))
        #expect(outgoing.queuedMessages == 2)
        #expect(outgoing.waitingBytes >= 3 * 800)
        let early = outgoing.dequeue()
        #expect(early == nil)
        write(&outgoing)
        #expect(!outgoing.hasRoom, "a message must not overtake those in the queue")
        let first = outgoing.dequeue()
        guard case .call(7)? = first else { throw OutgoingTestError.wrongOrder }
        let second = outgoing.dequeue()
        guard case .message? = second else { throw OutgoingTestError.wrongOrder }
        #expect(outgoing.isEmpty && outgoing.waitingBytes == 0)
    }

    private enum OutgoingTestError: Error {
        case wrongOrder
    }

    @Test func messagesWithDescriptorsAreFew() throws {
        var outgoing = Outgoing(ConnectionLimits())
        let message = try written([near, near])
        for serial in 1...32 as ClosedRange<UInt32> {
            #expect(outgoing.hasRoom(for: message))
            outgoing.append(message, as: serial)
        }
        #expect(!outgoing.hasRoom(for: message))
        let other = try written("text")
        #expect(outgoing.hasRoom(for: other))
    }

    @Test func errorMayTakeRoomThatAnAnswerMayNot() throws {
        let limits = Self.limits(queuedBytes: 1000)
        var outgoing = Outgoing(limits)
        outgoing.enqueue(.message(try written("text")))
        let free = limits.unreadBytes - outgoing.waitingBytes
        #expect(outgoing.hasRoom(forAnswerOf: free - 2000, isError: false))
        #expect(!outgoing.hasRoom(forAnswerOf: free - 1999, isError: false))
        #expect(outgoing.hasRoom(forAnswerOf: free - 1000, isError: true))
        #expect(!outgoing.hasRoom(forAnswerOf: free - 999, isError: true))
    }

    @Test func abandonedCallsAreRemovedAndTheOthersStay() {
        var outgoing = Outgoing(ConnectionLimits())
        for number in 0..<200 as Range<UInt64> { outgoing.enqueue(.call(number)) }
        for _ in 0..<164 { outgoing.abandonCall { $0 >= 164 } }
        #expect(outgoing.queuedMessages == 200)
        outgoing.abandonCall { $0 >= 165 }
        #expect(outgoing.queuedMessages == 35)
    }

    @Test func positionChangesOnlyWithTheOtherEnd() throws {
        var outgoing = Outgoing(ConnectionLimits())
        outgoing.append(try written(String(repeating: "x", count: 2000)), as: 1)
        write(&outgoing)
        let before = outgoing.position(in: near.rawValue)
        #expect(before.taken >= 2000 && before.held >= 2000)
        #expect(outgoing.position(in: near.rawValue) == before)
        var bytes = [UInt8](repeating: 0, count: 4000)
        #expect(read(far.rawValue, &bytes, bytes.count) == before.taken)
        #expect(outgoing.position(in: near.rawValue) != before)
    }

    @Test func closedEndTakesNothing() throws {
        var outgoing = Outgoing(ConnectionLimits())
        outgoing.append(try written("text"), as: 1)
        outgoing.enqueue(.call(7))
        shutdown(far.rawValue, CInt(SHUT_RD))
        let progress = outgoing.write(to: near.rawValue)
        #expect(progress == .ended)
        #expect(outgoing.isWritten && outgoing.queuedMessages == 1)
        outgoing.removeAll()
        #expect(outgoing.isEmpty)
    }
}
