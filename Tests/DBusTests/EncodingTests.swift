import CDBus
import Glibc
import TestSupport
import Testing

@testable import DBus

@Suite struct EncodingTests {
    @Test func everyTypeKeepsItsValue() throws {
        #expect(try roundTrip(UInt8.max) == .max)
        #expect(try roundTrip([true, false]) == [true, false])
        #expect(try roundTrip([Int16.min, .max]) == [.min, .max])
        #expect(try roundTrip([UInt16.min, .max]) == [.min, .max])
        #expect(try roundTrip([Int32.min, .max]) == [.min, .max])
        #expect(try roundTrip([UInt32.min, .max]) == [.min, .max])
        #expect(try roundTrip([Int64.min, .max]) == [.min, .max])
        #expect(try roundTrip([UInt64.min, .max]) == [.min, .max])
        #expect(try roundTrip([-0.0, .infinity, .leastNonzeroMagnitude]) == [-0.0, .infinity, .leastNonzeroMagnitude])
        #expect(try roundTrip(["", "ß€𝄞"]) == ["", "ß€𝄞"])
        #expect(try roundTrip(["/", "/a/b"] as [ObjectPath]) == ["/", "/a/b"])
        #expect(try roundTrip(["", "a{sv}"] as [Signature]) == ["", "a{sv}"])
        #expect(try roundTrip([["a": [1, 2]], [:]] as [[String: [UInt32]]]) == [["a": [1, 2]], [:]])
        #expect(try roundTrip(Arguments("a", UInt32(1), [Value]())).values == ("a", 1, []))
        #expect(try roundTrip(Empty()) == Empty())
    }

    @Test func randomValuesKeepTheirValue() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<3000 {
            let value = random.value()
            #expect(try roundTrip(value) == value, "\(value.signature)")
        }
    }

    @Test func valueConvertsToTheTypeThatItHolds() throws {
        let strings: [String: UInt32] = try Value.dictionary(["a": .uint32(1)], key: "s", value: "u").converted()
        #expect(strings == ["a": 1])
        #expect(throws: MessageDecodingError.wrongType(expected: "u", found: "s")) {
            try Value.string("1").converted() as UInt32
        }
    }

    @Test(arguments: [
        Value.array([.string("a"), .byte(1)], of: "s"),
        .array([], of: "ss"),
        .array([], of: ""),
        .structure([]),
        .structure([.array([.string("a")], of: "ss")]),
        .structure([.array([], of: "ss")]),
        .dictionary(["a": .byte(1)], key: "s", value: "q"),
        .dictionary([.byte(1): .byte(1)], key: "s", value: "y"),
        .dictionary([:], key: "v", value: "s"),
        .dictionary([:], key: "ss", value: "s"),
        .structure(Array(repeating: .byte(0), count: 254)),
        (0..<33).reduce(Value.byte(0)) { inner, _ in .structure([inner]) },
        (0..<33).reduce(Value.byte(0)) { inner, _ in .array([inner], of: inner.signature) },
    ])
    func inconsistentValueIsNotSent(_ value: Value) {
        #expect(refusal(of: value) == .inconsistentValue)
    }

    @Test func descriptorsAreDuplicatedAndLimited() throws {
        let pipe = try Pipe()
        let message = try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), [pipe.writeEnd], limit: 4096))
        let copies: [UnixFD] = try message.contents(limit: .max)
        #expect(copies.count == 1 && copies[0].rawValue != pipe.writeEnd.rawValue)
        #expect(fcntl(copies[0].rawValue, F_GETFD) & FD_CLOEXEC != 0)
        #expect(write(copies[0].rawValue, "x", 1) == 1)
        var byte: UInt8 = 0
        #expect(read(pipe.readEnd.rawValue, &byte, 1) == 1)
        #expect(refusal(of: Array(repeating: pipe.writeEnd, count: 16)) == nil)
        #expect(refusal(of: Array(repeating: pipe.writeEnd, count: 17)) == .descriptorNotPassed)
    }

    @Test func answerOfAnotherTypeIsRefusedBeforeReading() throws {
        let message = try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), "a", limit: 4096))
        #expect(throws: MessageDecodingError.wrongType(expected: "u", found: "s")) {
            let _: UInt32 = try message.contents(limit: .max)
        }
        #expect(throws: MessageDecodingError.wrongType(expected: "", found: "s")) {
            let _: Empty = try message.contents(limit: .max)
        }
    }

    @Test func readValuesHaveASizeLimit() throws {
        let long = String(repeating: "x", count: 5000)
        let message = try Message(
            .methodCall(
                "a.b",
                "C",
                on: RemoteObject(nil, "/"),
                [Value.string(long)],
                limit: 65_536
            )
        )
        #expect(throws: MessageDecodingError.tooLarge(limit: 4096)) {
            let _: [Value] = try message.contents(limit: 4096)
        }
    }

    @Test(arguments: [(Double.nan, true), (-.nan, true), (.infinity, false), (-0.0, false)])
    func keyThatIsNotANumberIsAnError(_ key: Double, _ isAnError: Bool) throws {
        func read<Body: MessageBody>(_ body: Body) throws -> Body {
            try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: 4096)).contents(limit: 4096)
        }
        let numbers: [Double: UInt8] = [key: 1]
        let values = [Value.dictionary([.double(key): .byte(1)], key: "d", value: "y")]
        if isAnError {
            let error = MessageDecodingError.invalidValue("the key of an entry is not a number")
            #expect(throws: error) { try read(numbers) }
            #expect(throws: error) { try read(values) }
        } else {
            #expect(try read(numbers) == numbers)
            #expect(try read(values) == values)
        }
    }

    @Test func objectPathCountsTowardsTheSizeLimit() throws {
        let path = try #require(ObjectPath("/" + String(repeating: "p", count: 1 << 20)))
        #expect(throws: MessageEncodingError.tooLarge(limit: 1 << 20)) {
            try Message(.methodCall("a.b", "C", on: RemoteObject(nil, path), Empty(), limit: 1 << 20))
        }
    }

    @Test(arguments: [17_000, 900_000]) func longErrorTextIsTruncated(_ size: Int) throws {
        let address = ReplyAddress(sender: ":1.1", serial: 5, isExpected: true)
        let text = String(repeating: "x", count: size)
        let message = try Message(.error(to: address, RemoteError("a.b", text), limit: 1 << 20))
        let result: Result<Empty, CallError> = message.result()
        #expect(result == .failure(.remote(RemoteError("a.b", String(repeating: "x", count: 1023) + "…"))))
    }
}
