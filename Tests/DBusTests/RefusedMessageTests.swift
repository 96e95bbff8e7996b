import Testing

@testable import DBus

/// Messages that break a rule of the specification which not all libraries check.
@Suite struct RefusedMessageTests {
    /// Returns a message with a dictionary that has two entries.
    private static func message(_ first: String, _ second: String) throws -> Message {
        var body: [UInt8] = []
        for key in [first, second] {
            body +=
                [UInt8](repeating: 0, count: -body.count & 7) + RawMessage.string(key) + [1, UInt8(ascii: "y"), 0, 7]
        }
        let length = withUnsafeBytes(of: UInt32(body.count).littleEndian) { Array($0) }
        let fields: [RawMessage.Field] = [.path("/"), .text(3, "C"), .signature("a{sv}")]
        return try Message(RawMessage.bytes(1, 7, fields, body: length + [0, 0, 0, 0] + body))
    }

    @Test(arguments: [("a", "a"), ("é", "e\u{301}"), ("\u{212B}", "\u{C5}")])
    func keysThatAreEqualAreRefused(first: String, second: String) throws {
        let message = try Self.message(first, second)
        #expect(throws: MessageReader.repeatedKey) { let _: [String: Value] = try message.contents(limit: 1000) }
        #expect(throws: MessageReader.repeatedKey) {
            var reader = MessageReader(message: message, limit: 1000)
            _ = try reader.readValue()
        }
        let others: [String: Value] = try Self.message("a", "b").contents(limit: 1000)
        #expect(others == ["a": .byte(7), "b": .byte(7)])
    }

    @Test func paddingThatIsNotZeroIsRefused() throws {
        let valid = try written(Arguments(UInt8(1), UInt64(2))).bytes
        let large = try written(Arguments(UInt8(1), [UInt64(2)])).bytes
        let fields = try written(Arguments(UInt8(1), ["a": Value.byte(3)], "")).bytes
        var refused = 0
        for bytes in [valid, large, fields] {
            var bytes = bytes
            bytes.set(7, at: MessageHeader.serialPlace)
            #expect(try libraryCopy(of: bytes) != nil)
            for place in MessageHeader.fieldsPlace..<bytes.count where bytes[place] == 0 {
                var changed = bytes
                changed[place] = 9
                // Other bytes that are zero end a text or belong to a number.
                let isPadding = try libraryCopy(of: changed) == nil
                let isRead = Self.isRead(changed)
                #expect(isRead != isPadding, "\(place) of \(bytes)")
                if isPadding { refused += 1 }
            }
        }
        #expect(refused > 20)
    }

    private static func isRead(_ bytes: [UInt8]) -> Bool {
        do {
            let message = try Message(bytes)
            var reader = MessageReader(message: message, limit: 10_000)
            while reader.hasMore { _ = try reader.readValue() }
            try reader.expectEnd()
            return message.isValid
        } catch {
            return false
        }
    }
}
