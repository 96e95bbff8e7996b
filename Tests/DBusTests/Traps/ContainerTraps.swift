import Testing

@testable import DBus

/// A value with the signature of an array that reads a string.
private struct StringInsteadOfArray: DBusType {
    static var signature: Signature { "as" }
    init(from reader: inout MessageReader) throws(MessageDecodingError) { _ = try reader.readString() }
    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {}
}

/// A value with the signature of a string that reads an array.
private struct ArrayInsteadOfString: DBusType {
    static var signature: Signature { "s" }
    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        try reader.readArray { (reader) throws(MessageDecodingError) in _ = try reader.readString() }
    }
    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {}
}

/// Reads a body of one type as another type. The only check on the way is the comparison of signatures.
private func read<Body: MessageBody, Content: MessageBody>(_ body: Body, as: Content.Type) throws -> Content {
    let message = try Message.methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: 4096)
    return try Message.body(message.pointer, limit: .max)
}

// Rows 31 to 41: types, depth and size.
extension TrapTests {
    @Test("31: going into an empty array (accepted)")
    func emptyArray() throws {
        #expect(try roundTrip([String]()) == [])
        #expect(try roundTrip([String: [Value]]()) == [:])
        let empty = Value.structure([.array([], of: "a{sv}"), .dictionary([:], key: "s", value: "v")])
        #expect(try roundTrip(empty) == empty)
    }

    @Test("32: reading a container as a basic value (abort)")
    func containerReadAsBasic() {
        #expect(throws: MessageDecodingError.wrongType(expected: "s", found: "as")) { try read(["a"], as: String.self) }
        #expect(throws: MessageDecodingError.wrongType(expected: "s", found: "a")) {
            try read(["a"], as: StringInsteadOfArray.self)
        }
    }

    @Test("33: asking what is not an array for its elements (abort)")
    func basicReadAsArray() {
        #expect(throws: MessageDecodingError.wrongType(expected: "as", found: "s")) { try read("a", as: [String].self) }
        #expect(throws: MessageDecodingError.wrongType(expected: Signature(trusted: "a"), found: "s")) {
            try read("a", as: ArrayInsteadOfString.self)
        }
    }

    // The module has its own table of type codes.
    @Test("34: asking about a type code that is none (abort)", arguments: ["Q", "aQ", "a{Qs}", "(Q)", "\u{0}", "é"])
    func unknownTypeCode(_ text: String) {
        #expect(Signature(text) == nil)
    }

    @Test("35: another type than the container's (abort)")
    func wrongElement() {
        #expect(refusal(of: Value.array([.string("a"), .byte(1)], of: "s")) == .inconsistentValue)
        #expect(
            refusal(of: Liar<String> { (w) throws(MessageEncodingError) in try w.append(UInt8(1)) })
                == .inconsistentValue
        )
        #expect(
            refusal(of: [Liar<String> { (w) throws(MessageEncodingError) in try w.append(true) }]) == .inconsistentValue
        )
        #expect(
            refusal(
                of: Liar<Value> { (w) throws(MessageEncodingError) in
                    try w.appendVariant(of: "s") { (w) throws(MessageEncodingError) in try w.append(UInt8(1)) }
                }
            ) == .inconsistentValue
        )
        #expect(
            refusal(of: Liar<[String]> { (w) throws(MessageEncodingError) in try w.appendStructure { _ in } })
                == .inconsistentValue
        )
        #expect(
            refusal(of: Liar<[String]> { (w) throws(MessageEncodingError) in try w.appendArray(of: "u") { _ in } })
                == .inconsistentValue
        )
        #expect(
            refusal(of: Liar<String> { (w) throws(MessageEncodingError) in try w.appendEntry { _ in } })
                == .inconsistentValue
        )
    }

    @Test("36: a variant, or an element, of two types (accepted, and no message)")
    func twoTypesInOne() {
        for signature in ["ss", ""] as [Signature] {
            let liar = Liar<Value> { (w) throws(MessageEncodingError) in try w.appendVariant(of: signature) { _ in } }
            #expect(refusal(of: liar) == .inconsistentValue)
        }
        #expect(refusal(of: [TwoStrings()]) == .inconsistentValue)
        #expect(refusal(of: ["a": TwoStrings()]) == .inconsistentValue)
        #expect(refusal(of: Value.array([], of: "ss")) == .inconsistentValue)
        #expect(refusal(of: ["a": [Value]()]) == nil)
    }

    @Test("37: arrays in arrays, more than 32 (abort)")
    func nestedArrays() {
        func nested(_ depth: Int) -> Value {
            (0..<depth).reduce(Value.byte(0)) { inner, _ in .array([inner], of: inner.signature) }
        }
        #expect(Signature(String(repeating: "a", count: 32) + "y") != nil)
        #expect(Signature(String(repeating: "a", count: 33) + "y") == nil)
        #expect(refusal(of: nested(32)) == nil)
        #expect(refusal(of: nested(33)) == .inconsistentValue)
    }

    @Test("38: 70 variants in each other (dropped)")
    func nestedVariants() async throws {
        // Returns a value inside `depth` variants. The outermost variant belongs to the body.
        func nested(_ depth: Int) -> Value {
            (1..<depth).reduce(Value.byte(7)) { inner, _ in .variant(inner) }
        }
        #expect(try roundTrip(nested(63)) == nested(63))
        #expect(refusal(of: nested(64)) == .tooDeep)
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.notSent(.tooDeep)) {
                try await pair.client.call(Echo.values, on: Echo.object, [nested(70)])
            }
            // The array adds one level.
            #expect(try await pair.client.call(Echo.values, on: Echo.object, [nested(62)]) == [nested(62)])
        }
    }

    // A limit above the D-Bus maximum of one array has no effect. The limit holds for the message as a whole.
    @Test("39: more than 64 MiB at once in an array (abort)")
    func arrayTooLarge() {
        var limits = ConnectionLimits()
        limits.messageBytes = .max
        #expect(limits.messageBytes == 64 << 20)
        let bytes = [UInt8](repeating: 0, count: (64 << 20) + 1)
        #expect(refusal(of: bytes, limit: .max) == .tooLarge(limit: 64 << 20))
        #expect(refusal(of: Array(repeating: UInt64(0), count: 131_072), limit: 1 << 20) == .tooLarge(limit: 1 << 20))
    }

    @Test("40: more than 64 MiB bit by bit in an array (dropped)")
    func arrayGrowsTooLarge() throws {
        let text = String(repeating: "x", count: 1 << 20)
        #expect(refusal(of: [text, text], limit: 2 << 20) == .tooLarge(limit: 2 << 20))
        #expect(refusal(of: [text, text].map(Value.string), limit: 2 << 20) == .tooLarge(limit: 2 << 20))
        #expect(try roundTrip([text], limit: 2 << 20) == [text])
    }

    @Test("41: a message of more than 128 MiB (dropped)")
    func messageTooLarge() async throws {
        let text = String(repeating: String(repeating: "x", count: 1 << 20), count: 130)
        #expect(refusal(of: text, limit: ConnectionLimits.largestMessage) == .tooLarge(limit: 64 << 20))
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.notSent(.tooLarge(limit: 16 << 20))) {
                try await pair.client.call(Echo.string, on: Echo.object, text)
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "still there") == "still there")
        }
    }
}
