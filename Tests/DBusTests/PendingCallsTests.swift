import Reactor
import Testing

@testable import DBus

/// The calls that wait for their answers, without a connection.
@Suite(.timeLimit(.minutes(10))) struct PendingCallsTests {
    private static let service: BusName = ":1.7"
    private let loop: EventLoop

    init() throws {
        loop = try EventLoop()
    }

    private func pendingCalls(isOnBus: Bool = true) -> PendingCalls {
        PendingCalls(after: Serials(), isOnBus: isOnBus, on: loop)
    }

    private static func call(of name: BusName?, as serial: UInt32?) throws -> PendingCall {
        let unsent = serial == nil ? try written("text") : nil
        return PendingCall(destination: name, timer: nil, unsent: unsent, serial: serial) { _ in }
    }

    private static func answer(to serial: UInt32, from sender: String) throws -> Message {
        try Message(RawMessage.bytes(2, 1, [.number(5, serial), .text(7, sender)]))
    }

    @Test func onlyTheCalledProgramAnswers() throws {
        defer { loop.stop() }
        var calls = pendingCalls()
        let number = calls.nextNumber()
        calls.add(try Self.call(of: Self.service, as: 5), as: number)
        for answer in [try Self.answer(to: 6, from: ":1.7"), try Self.answer(to: 5, from: ":1.8")] {
            let call = calls.remove(answeredBy: answer)
            #expect(call == nil)
        }
        let call = calls.remove(answeredBy: try Self.answer(to: 5, from: ":1.7"))
        #expect(call?.serial == 5)
        #expect(calls.count == 0 && calls.number(sentAs: 5) == nil)
    }

    @Test func withoutABusTheOtherEndAnswers() throws {
        defer { loop.stop() }
        var calls = pendingCalls(isOnBus: false)
        calls.add(try Self.call(of: Self.service, as: 5), as: calls.nextNumber())
        let call = calls.remove(answeredBy: try Self.answer(to: 5, from: ":1.8"))
        #expect(call?.serial == 5)
    }

    @Test func queuedCallGetsItsSerialWhenItIsSent() throws {
        defer { loop.stop() }
        var calls = pendingCalls()
        let number = calls.nextNumber()
        calls.add(try Self.call(of: nil, as: nil), as: number)
        #expect(calls.unsentMessage(of: number) != nil)
        let serial = calls.nextSerial()
        calls.markSent(number, as: serial)
        #expect(calls.unsentMessage(of: number) == nil)
        #expect(calls.number(sentAs: serial) == number)
        let removed = calls.remove(number)
        #expect(removed?.serial == serial)
        #expect(!calls.contains(number))
    }

    @Test func serialOfAWaitingCallIsNotGivenAgain() throws {
        defer { loop.stop() }
        var calls = PendingCalls(after: Serials(after: Serials.maximum), isOnBus: true, on: loop)
        calls.add(try Self.call(of: nil, as: 1), as: calls.nextNumber())
        let serial = calls.nextSerial()
        #expect(serial == 2)
    }

    @Test func forgottenNameNamesItsCalls() throws {
        defer { loop.stop() }
        var calls = pendingCalls()
        let name: BusName = "com.example.Echo"
        let (first, other, second) = (calls.nextNumber(), calls.nextNumber(), calls.nextNumber())
        let isNew = calls.names.beginCall(of: name)
        #expect(isNew)
        for (number, destination) in [(first, name), (other, Self.service), (second, name)] {
            calls.add(try Self.call(of: destination, as: UInt32(number)), as: number)
        }
        let forgotten = calls.forget(name)
        #expect(forgotten == [first, second])
        #expect(calls.names.count == 0)
        let all = calls.removeAll()
        #expect(all.count == 3 && calls.count == 0)
    }

    @Test func timersOfRemovedCallsDoNotFire() async throws {
        defer { loop.stop() }
        await loop.run { [loop] in
            var calls = PendingCalls(after: Serials(), isOnBus: true, on: loop)
            for number in 1...3 as ClosedRange<UInt64> {
                let timer = loop.schedule(at: .now) { Issue.record("the timer of call \(number) has fired") }
                calls.add(PendingCall(destination: nil, timer: timer, unsent: nil, serial: nil) { _ in }, as: number)
            }
            let removed = calls.remove(2)
            let others = calls.removeAll()
            #expect(removed != nil && others.count == 2)
        }
        // Timers fire in the order of their deadlines.
        await withCheckedContinuation { continuation in
            loop.execute { [loop] in loop.schedule(at: .now) { continuation.resume() } }
        }
    }
}
