import CDBus
import Glibc
import Testing

@testable import DBus

/// A value that writes something else than it promises.
private struct Liar<Promise: DBusType>: DBusType {
    static var signature: Signature { Promise.signature }
    var body: @Sendable (inout MessageWriter) throws(EncodingError) -> Void

    init(_ body: @escaping @Sendable (inout MessageWriter) throws(EncodingError) -> Void) {
        self.body = body
    }

    init(from reader: inout MessageReader) throws(DecodingError) {
        body = { _ in }
    }

    func write(to writer: inout MessageWriter) throws(EncodingError) {
        try body(&writer)
    }
}

private struct TwoStrings: DBusType {
    static var signature: Signature { "ss" }
    init() {}
    init(from reader: inout MessageReader) throws(DecodingError) {}
    func write(to writer: inout MessageWriter) throws(EncodingError) {
        try writer.append("a")
        try writer.append("b")
    }
}

@Suite struct EncodingTests {
    private static let limit = 16 << 20

    /// Writes a body, sends it through libdbus's own marshaller and validator, and reads it.
    private func roundTrip<Body: MessageBody>(_ body: Body, limit: Int = limit) throws -> Body {
        let message = try Message.methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: limit)
        dbus_message_set_serial(message.pointer, 1)
        var bytes: UnsafeMutablePointer<CChar>?
        var count: CInt = 0
        #expect(dbus_message_marshal(message.pointer, &bytes, &count) != 0)
        defer { dbus_free(bytes) }
        var error = DBusError()
        dbus_error_init(&error)
        let copy = dbus_message_demarshal(bytes, count, &error)
        let text = error.message.map { String(cString: $0) }
        dbus_error_free(&error)
        let received = Message(owning: try #require(copy, "\(text ?? "")"))
        return try Message.body(received.pointer, limit: .max)
    }

    private func refusal<Body: MessageBody>(of body: Body, limit: Int = limit) -> EncodingError? {
        do throws(EncodingError) {
            _ = try Message.methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: limit)
            return nil
        } catch {
            return error
        }
    }

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
        #expect(try roundTrip(["", "ß€𝄞", "\u{FFFE}\u{10FFFF}"]) == ["", "ß€𝄞", "\u{FFFE}\u{10FFFF}"])
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

    @Test func aValueBecomesTheTypeThatItHolds() throws {
        let strings: [String: UInt32] = try Value.dictionary(["a": .uint32(1)], key: "s", value: "u").converted()
        #expect(strings == ["a": 1])
        #expect(throws: DecodingError.wrongType(expected: "u", found: "s")) {
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
    func aValueThatContradictsItselfIsNotSent(_ value: Value) {
        #expect(refusal(of: value) == .inconsistentValue)
    }

    @Test func aTypeThatBreaksItsPromiseIsNotSent() {
        #expect(refusal(of: Liar<String> { (w) throws(EncodingError) in try w.append(UInt8(1)) }) == .inconsistentValue)
        #expect(refusal(of: Liar<String> { _ in }) == .inconsistentValue)
        #expect(
            refusal(
                of: Liar<String> { (w) throws(EncodingError) in
                    try w.append("a")
                    try w.append("b")
                }
            ) == .inconsistentValue
        )
        #expect(refusal(of: [Liar<String> { (w) throws(EncodingError) in try w.append(true) }]) == .inconsistentValue)
        #expect(
            refusal(of: Liar<Value> { (w) throws(EncodingError) in try w.appendVariant(of: "ss") { _ in } })
                == .inconsistentValue
        )
        #expect(
            refusal(of: Liar<Value> { (w) throws(EncodingError) in try w.appendVariant(of: "s") { _ in } })
                == .inconsistentValue
        )
        #expect(
            refusal(of: Liar<[String]> { (w) throws(EncodingError) in try w.appendStructure { _ in } })
                == .inconsistentValue
        )
        #expect(
            refusal(of: Liar<[String]> { (w) throws(EncodingError) in try w.appendArray(of: "u") { _ in } })
                == .inconsistentValue
        )
        #expect(
            refusal(of: Liar<String> { (w) throws(EncodingError) in try w.appendEntry { _ in } }) == .inconsistentValue
        )
        #expect(refusal(of: [TwoStrings()]) == .inconsistentValue)
        #expect(refusal(of: ["a": TwoStrings()]) == .inconsistentValue)
        #expect(refusal(of: ["a": [Value]()]) == nil)
    }

    @Test func aStringWithANulIsNotSent() {
        #expect(refusal(of: "a\0b") == .nulInString)
        #expect(refusal(of: Value.variant(.string("\0"))) == .nulInString)
        #expect(refusal(of: ["\0": true]) == .nulInString)
    }

    /// A value in that many variants, of which `roundTrip` writes the outermost.
    private func nested(_ depth: Int) -> Value {
        (1..<depth).reduce(Value.byte(7)) { inner, _ in .variant(inner) }
    }

    @Test func depthIsLimitedWhereTheBusWouldHangUp() throws {
        #expect(try roundTrip(nested(63)) == nested(63))
        #expect(refusal(of: nested(64)) == .tooDeep)
    }

    @Test func sizeIsLimited() throws {
        let text = String(repeating: "x", count: 1 << 20)
        #expect(refusal(of: text, limit: 1 << 20) == .tooLarge(limit: 1 << 20))
        #expect(try roundTrip(text, limit: 2 << 20) == text)
        #expect(refusal(of: Array(repeating: UInt64(0), count: 131_072), limit: 1 << 20) == .tooLarge(limit: 1 << 20))
        #expect(refusal(of: [text, text].map(Value.string), limit: 2 << 20) == .tooLarge(limit: 2 << 20))
        var limits = ConnectionLimits()
        limits.messageBytes = .max
        #expect(limits.messageBytes == ConnectionLimits.largestMessage)
        let path = try #require(ObjectPath("/" + String(repeating: "p", count: 1 << 20)))
        #expect(throws: EncodingError.tooLarge(limit: 1 << 20)) {
            try Message.methodCall("a.b", "C", on: RemoteObject(nil, path), Empty(), limit: 1 << 20)
        }
    }

    @Test func namesThatLibdbusKeepsForItselfAreNotSent() {
        #expect(throws: EncodingError.reservedName("/org/freedesktop/DBus/Local")) {
            try Message.signal("a.b", "C", from: "/org/freedesktop/DBus/Local", Empty(), limit: 4096)
        }
        #expect(throws: EncodingError.reservedName("org.freedesktop.DBus.Local")) {
            try Message.signal("org.freedesktop.DBus.Local", "C", from: "/", Empty(), limit: 4096)
        }
    }

    @Test func descriptorsAreDuplicatedAndLimited() throws {
        let pipe = try Pipe()
        let message = try Message.methodCall("a.b", "C", on: RemoteObject(nil, "/"), [pipe.writeEnd], limit: 4096)
        let copies: [UnixFD] = try Message.body(message.pointer, limit: .max)
        #expect(copies.count == 1 && copies[0].rawValue != pipe.writeEnd.rawValue)
        #expect(fcntl(copies[0].rawValue, F_GETFD) & FD_CLOEXEC != 0)
        #expect(write(copies[0].rawValue, "x", 1) == 1)
        var byte: UInt8 = 0
        #expect(read(pipe.readEnd.rawValue, &byte, 1) == 1)
        #expect(refusal(of: Array(repeating: pipe.writeEnd, count: 16)) == nil)
        #expect(refusal(of: Array(repeating: pipe.writeEnd, count: 17)) == .descriptorNotPassed)
        #expect(refusal(of: UnixFD(owning: -1)) == .descriptorNotPassed)
    }

    @Test func anAnswerOfAnotherTypeIsRefusedBeforeItIsRead() throws {
        let message = try Message.methodCall("a.b", "C", on: RemoteObject(nil, "/"), "a", limit: 4096)
        #expect(throws: DecodingError.wrongType(expected: "u", found: "s")) {
            let _: UInt32 = try Message.body(message.pointer, limit: .max)
        }
        #expect(throws: DecodingError.wrongType(expected: "", found: "s")) {
            let _: Empty = try Message.body(message.pointer, limit: .max)
        }
    }

    @Test func whatIsReadIsLimited() throws {
        let long = String(repeating: "x", count: 5000)
        let message = try Message.methodCall(
            "a.b",
            "C",
            on: RemoteObject(nil, "/"),
            [Value.string(long)],
            limit: 65_536
        )
        #expect(throws: DecodingError.tooLarge(limit: 4096)) {
            let _: [Value] = try Message.body(message.pointer, limit: 4096)
        }
    }

    @Test func anErrorIsSentWhateverItsText() throws {
        let address = ReplyAddress(sender: ":1.1", serial: 5, isExpected: true)
        for (text, expected) in [
            ("a\0b", "a b"), ("", ""), (String(repeating: "x", count: 900_000), String(repeating: "x", count: 1024)),
        ] {
            let message = try Message.error(to: address, RemoteError("a.b", text), limit: 1 << 20)
            let result: Result<Empty, CallError> = Message.result(message.pointer)
            #expect(result == .failure(.remote(RemoteError("a.b", expected))))
        }
    }
}
