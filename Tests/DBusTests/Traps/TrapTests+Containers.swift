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
    let message = try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: 4096))
    return try message.contents(limit: .max)
}

// Rows 31 to 41: types, depth and size.
extension TrapTests {
    /// Row 31: entering an empty array (accepted).
    @Test func emptyArrayIsRead() throws {
        #expect(try roundTrip([String]()) == [])
        #expect(try roundTrip([String: [Value]]()) == [:])
        let empty = Value.structure([.array([], of: "a{sv}"), .dictionary([:], key: "s", value: "v")])
        #expect(try roundTrip(empty) == empty)
    }

    /// Row 32: a container that is read as a basic value (abort).
    @Test func containerIsNotReadAsABasicValue() {
        #expect(throws: MessageDecodingError.wrongType(expected: "s", found: "as")) { try read(["a"], as: String.self) }
        #expect(throws: MessageDecodingError.wrongType(expected: "s", found: "a")) {
            try read(["a"], as: StringInsteadOfArray.self)
        }
    }

    /// Row 33: a basic value that is read as an array (abort).
    @Test func basicValueIsNotReadAsAnArray() {
        #expect(throws: MessageDecodingError.wrongType(expected: "as", found: "s")) { try read("a", as: [String].self) }
        #expect(throws: MessageDecodingError.wrongType(expected: Signature(trusted: "a"), found: "s")) {
            try read("a", as: ArrayInsteadOfString.self)
        }
    }

    /// Row 34: a question about an invalid type code (abort).
    ///
    /// The module has its own table of type codes.
    @Test(arguments: ["Q", "aQ", "a{Qs}", "(Q)", "\u{0}", "é"])
    func unknownTypeCodeIsRefused(_ text: String) {
        #expect(Signature(text) == nil)
    }

    /// Row 35: an element of another type than its container declares (abort).
    @Test func elementOfAnotherTypeIsRefused() {
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

    /// Row 36: a variant or an element of two types (accepted, but not a valid message).
    @Test func variantOfTwoTypesIsRefused() {
        for signature in ["ss", ""] as [Signature] {
            let liar = Liar<Value> { (w) throws(MessageEncodingError) in try w.appendVariant(of: signature) { _ in } }
            #expect(refusal(of: liar) == .inconsistentValue)
        }
        #expect(refusal(of: [TwoStrings()]) == .inconsistentValue)
        #expect(refusal(of: ["a": TwoStrings()]) == .inconsistentValue)
        #expect(refusal(of: Value.array([], of: "ss")) == .inconsistentValue)
        #expect(refusal(of: ["a": [Value]()]) == nil)
    }

    /// Row 37: more than 32 nested arrays (abort).
    @Test func moreThan32NestedArraysAreRefused() {
        func nested(_ depth: Int) -> Value {
            (0..<depth).reduce(Value.byte(0)) { inner, _ in .array([inner], of: inner.signature) }
        }
        #expect(Signature(String(repeating: "a", count: 32) + "y") != nil)
        #expect(Signature(String(repeating: "a", count: 33) + "y") == nil)
        #expect(refusal(of: nested(32)) == nil)
        #expect(refusal(of: nested(33)) == .inconsistentValue)
    }

    /// Row 38: 70 nested variants (dropped).
    @Test func tooDeeplyNestedVariantsAreRefused() async throws {
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

    /// libdbus and sd-bus read a depth of 64, which this module does not send.
    @Test(arguments: [(64, true), (65, false)]) func messageOfTheLargestDepthIsRead(depth: Int, isRead: Bool) throws {
        let body = [UInt8]((1..<depth).flatMap { _ in [1, UInt8(ascii: "v"), 0] } + [1, UInt8(ascii: "y"), 0, 7])
        let bytes = RawMessage.bytes(1, 7, [.path("/"), .text(3, "C"), .signature("v")], body: body)
        #expect(try (libraryCopy(of: bytes) != nil) == isRead)
        let message = try Message(bytes)
        if isRead {
            let expected = (1..<depth).reduce(Value.byte(7)) { inner, _ in .variant(inner) }
            #expect(try message.contents(limit: 1 << 20) == expected)
        } else {
            #expect(throws: MessageDecodingError.tooDeep) { try message.contents(limit: 1 << 20) as Value }
        }
    }

    /// Row 39: more than 64 MiB at once in an array (abort).
    ///
    /// A limit above the D-Bus maximum of one array has no effect. The limit holds for the message as a whole.
    @Test func tooLargeArrayIsRefused() {
        var limits = ConnectionLimits()
        limits.messageBytes = .max
        #expect(limits.messageBytes == 64 << 20)
        let bytes = [UInt8](repeating: 0, count: (64 << 20) + 1)
        #expect(refusal(of: bytes, limit: .max) == .tooLarge(limit: 64 << 20))
        #expect(refusal(of: Array(repeating: UInt64(0), count: 131_072), limit: 1 << 20) == .tooLarge(limit: 1 << 20))
    }

    /// Row 40: more than 64 MiB in small steps in an array (dropped).
    @Test func arrayThatGrowsTooLargeIsRefused() throws {
        let text = String(repeating: "x", count: 1 << 20)
        #expect(refusal(of: [text, text], limit: 2 << 20) == .tooLarge(limit: 2 << 20))
        #expect(refusal(of: [text, text].map(Value.string), limit: 2 << 20) == .tooLarge(limit: 2 << 20))
        #expect(try roundTrip([text], limit: 2 << 20) == [text])
    }

    /// Row 41: a message of more than 128 MiB (dropped).
    @Test func tooLargeMessageIsRefused() async throws {
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
