import CDBus
import Testing

@testable import DBus

/// A structure of two arrays whose writer catches the errors of the first array.
private struct Swallower: DBusType {
    static var signature: Signature { "(asas)" }
    var first: @Sendable (inout MessageWriter) throws(MessageEncodingError) -> Void

    init(_ first: @escaping @Sendable (inout MessageWriter) throws(MessageEncodingError) -> Void) {
        self.first = first
    }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        first = { _ in }
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendStructure { (writer) throws(MessageEncodingError) in
            do throws(MessageEncodingError) { try first(&writer) } catch {}
            try writer.appendArray(of: "s") { (writer) throws(MessageEncodingError) in try writer.append("b") }
        }
    }
}

/// A value with the signature of a byte and another representation in memory.
private struct Letter: DBusType, Equatable {
    static var signature: Signature { "y" }
    var letter: Character

    init(_ letter: Character) {
        self.letter = letter
    }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        letter = Character(Unicode.Scalar(try reader.readUInt8()))
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        guard let byte = letter.asciiValue else { throw .inconsistentValue }
        try writer.append(byte)
    }
}

@Suite struct WriterTests {
    private func message(_ body: some MessageBody, limit: Int = 16 << 20) throws -> Message {
        try Message(try written(body, limit: limit))
    }

    private func copy<Body: MessageBody>(_ body: Body, limit: Int = 16 << 20) throws -> Body {
        let message = try message(body, limit: limit)
        return try message.contents(limit: .max)
    }

    /// A body of one `a{sv}`, which its own method of the writer writes.
    private struct Options: DBusType {
        static var signature: Signature { "a{sv}" }
        let values: [String: Value]

        init(_ values: [String: Value]) { self.values = values }

        init(from reader: inout MessageReader) throws(MessageDecodingError) {
            values = try [String: Value](from: &reader)
        }

        func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
            try writer.append(options: values)
        }
    }

    @Test func optionsAreWrittenAsDictionary() throws {
        let values: [String: Value] = ["a": .uint32(1), "b": .array([.string("x")], of: "s"), "c": .variant(.byte(1))]
        #expect(try roundTrip(Options(values)).values == values)
        #expect(refusal(of: Options(["\0": .byte(1)])) == .nulInString)
        #expect(refusal(of: Options(["a": .structure([])])) == .inconsistentValue)
    }

    @Test(arguments: [
        Value.structure([]).signature,
        Value.array([], of: .empty).signature,
        Value.dictionary([:], key: "v", value: "s").signature,
        (0..<33).reduce(Value.byte(0)) { inner, _ in .array([], of: inner.signature) }.signature,
        Value.structure(Array(repeating: .byte(0), count: 254)).signature,
        Arguments<Value, Value>.signature.appending(repeating: 200),
    ])
    func invalidSignatureIsNotSent(_ signature: Signature) {
        #expect(refusal(of: signature) == .inconsistentValue)
        #expect(refusal(of: Value.variant(.signature(signature))) == .inconsistentValue)
        #expect(refusal(of: [signature: true]) == .inconsistentValue)
    }

    @Test func caughtWriterErrorStillRefusesTheMessage() throws {
        #expect(
            refusal(
                of: Swallower { (writer) throws(MessageEncodingError) in
                    try writer.appendArray(of: "s") { (writer) throws(MessageEncodingError) in
                        try writer.append("a")
                        try writer.append("\0")
                    }
                }
            ) == .nulInString
        )
        #expect(
            refusal(
                of: Swallower { (writer) throws(MessageEncodingError) in
                    try writer.appendArray(of: "s") { (writer) throws(MessageEncodingError) in
                        do throws(MessageEncodingError) { try writer.append("\0") } catch {}
                    }
                }
            ) == .nulInString
        )
        #expect(
            refusal(
                of: Swallower { (writer) throws(MessageEncodingError) in
                    try writer.appendArray(of: "s") { (writer) throws(MessageEncodingError) in
                        try writer.append(String(repeating: "x", count: 4096))
                    }
                },
                limit: 4096
            ) == .tooLarge(limit: 4096)
        )
        // The writer appends the wrong type first and then the promised type.
        #expect(
            refusal(
                of: Swallower { (writer) throws(MessageEncodingError) in
                    do throws(MessageEncodingError) { try writer.append(UInt8(1)) } catch {}
                    try writer.appendArray(of: "s") { _ in }
                }
            ) == .inconsistentValue
        )
        #expect(
            refusal(of: Swallower { (w) throws(MessageEncodingError) in try w.appendArray(of: "s") { _ in } }) == nil
        )
    }

    @Test func numbersInArraysAreWrittenAndReadInOnePiece() throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try copy(bytes) == bytes)
        #expect(try copy([UInt8]()) == [])
        #expect(try copy([[UInt8]]([[], [1], [], [2, 3]])) == [[], [1], [], [2, 3]])
        // Each array follows a byte and needs padding for its alignment.
        let mixed = Arguments(UInt8(1), [UInt64.max, 0], UInt8(2), [Double](), [Int16.min, -1], [Int32.min])
        let values = try copy(mixed).values
        #expect((values.0, values.1, values.2) == (1, [.max, 0], 2))
        #expect((values.3, values.4, values.5) == ([], [.min, -1], [.min]))
        // Appending the elements one by one and appending them in one piece give the same message.
        let elements = Value.array(bytes.map(Value.byte), of: "y")
        #expect(try Value.variant(elements).converted() as Value == elements)
        #expect(try elements.converted() as [UInt8] == bytes)
        #expect(try Value.array([.int64(-1), .int64(1)], of: "x").converted() as [Int64] == [-1, 1])
    }

    @Test func customByteTypeUsesItsOwnWriter() throws {
        #expect(try copy([Letter("a"), Letter("b")]) == [Letter("a"), Letter("b")])
        #expect(refusal(of: [Letter("ß")]) == .inconsistentValue)
    }

    @Test func byteInAnArrayCountsOnce() throws {
        let bytes = [UInt8](repeating: 7, count: 60_000)
        #expect(try copy(bytes, limit: 65_536) == bytes)
        #expect(refusal(of: [UInt8](repeating: 7, count: 65_536), limit: 65_536) == .tooLarge(limit: 65_536))
        let message = try message(bytes)
        let received: [UInt8] = try message.contents(limit: 60_000)
        #expect(received == bytes)
        #expect(throws: MessageDecodingError.tooLarge(limit: 59_999)) {
            let _: [UInt8] = try message.contents(limit: 59_999)
        }
    }

    @Test func arrayOfAnotherNumberTypeIsRefused() throws {
        let message = try message([UInt32(1)])
        for isRead in [isRead(message, as: [UInt8].self), isRead(message, as: [Double].self)] { #expect(!isRead) }
        #expect(isRead(message, as: [UInt32].self))
        #expect(!isRead(try self.message("a"), as: [UInt8].self))
        #expect(!isRead(try self.message(["a"]), as: [UInt8].self))
    }

    /// Returns whether the body can be read as the type, without the comparison of signatures.
    private func isRead<Body: MessageBody>(_ message: Message, as type: Body.Type) -> Bool {
        var reader = MessageReader(message: message, limit: .max)
        do throws(MessageDecodingError) {
            _ = try Body(from: &reader)
            return true
        } catch {
            return false
        }
    }
}

extension Signature {
    fileprivate func appending(repeating count: Int) -> Signature {
        (0..<count).reduce(self) { signature, _ in signature + self }
    }
}
