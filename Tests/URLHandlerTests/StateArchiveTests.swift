import ByteCoding
import Testing

@testable import URLHandler

/// The coding of values in the file of a handler's state.
struct StateArchiveTests {
    private struct Everything: Codable, Equatable {
        var flag = true
        var text = "žluťoučký\u{0}🐎"
        var empty = ""
        var single: Float = 0.1
        var double = -1.5e300
        var infinity = Double.infinity
        var bytes: [UInt8] = [0, 1, 127, 128, 255]
        var small: [Int8] = [.min, -1, 0, 1, .max]
        var large: [Int64] = [.min, -1, 0, 1, .max]
        var unsigned: [UInt64] = [0, UInt64(Int64.max), .max]
        var nothing: Int?
        var holes: [String?] = ["a", nil, "b"]
        var byName = ["a": 1, "b": 2]
        var byNumber = [7: "seven"]
        var byPair = [[1, 2]: "key"]
        var choice = Choice.both("left", right: 2)
        var raw = Raw.second
        var nested = [["deep": [[true]]]]
    }

    private enum Choice: Codable, Equatable {
        case none
        case both(String, right: Int)
    }

    private enum Raw: String, Codable { case first, second }

    private class Base: Codable {
        var base = 1
        init() {}
    }

    private final class Derived: Base {
        var derived: [Int]
        private enum CodingKeys: CodingKey { case derived, list, record }
        private enum Inner: CodingKey { case value }

        init(derived: [Int]) {
            self.derived = derived
            super.init()
        }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            var inner = try list.nestedUnkeyedContainer()
            derived = []
            while !inner.isAtEnd { derived.append(try inner.decode(Int.self)) }
            let keyed = try list.nestedContainer(keyedBy: Inner.self)
            #expect(try keyed.decode(String.self, forKey: .value) == "inner")
            #expect(list.isAtEnd)
            let record = try container.nestedContainer(keyedBy: Inner.self, forKey: .record)
            #expect(record.allKeys.isEmpty)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            var inner = list.nestedUnkeyedContainer()
            for number in derived { try inner.encode(number) }
            #expect(inner.count == derived.count)
            var keyed = list.nestedContainer(keyedBy: Inner.self)
            try keyed.encode("inner", forKey: .value)
            _ = container.nestedContainer(keyedBy: Inner.self, forKey: .record)
            try super.encode(to: container.superEncoder())
        }
    }

    private func copied<Content: Codable>(_ value: Content) throws -> Content {
        var writer = ByteWriter()
        writer.write(try ArchivedValue(encoding: value))
        return try archived(writer.bytes).decoded(as: Content.self)
    }

    private func archived(_ bytes: [UInt8]) throws(ByteReader.Mismatch) -> ArchivedValue {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(ByteReader.Mismatch) in
                var reader = ByteReader(bytes)
                return try reader.archivedValue()
            }
        }
        return try result.get()
    }

    @Test func roundTripKeepsEveryKindOfValue() throws {
        let everything = Everything()
        #expect(try copied(everything) == everything)
        #expect(try copied(Choice.none) == .none)
        #expect(try copied(42) == 42)
        #expect(try copied(String?.none) == nil)
        #expect(try copied([Int]()) == [])
        #expect(try copied(Double.nan).isNaN)
        let derived = try copied(Derived(derived: [3, 4]))
        #expect(derived.derived == [3, 4])
        #expect(derived.base == 1)
    }

    /// An array that is copied for each element gets a new buffer for each, and takes quadratic time.
    @Test func arrayGrowsInPlace() {
        let node = ArchiveNode()
        node.makeArray()
        var buffers = 0
        var last: UnsafeRawPointer?
        for _ in 0..<10_000 {
            _ = node.append()
            let buffer = node.elements.withUnsafeBytes(\.baseAddress)
            if buffer != last { buffers += 1 }
            last = buffer
        }
        #expect(node.elements.count == 10_000)
        #expect(buffers <= 20)
    }

    /// The file of an earlier version of the program, byte by byte.
    @Test func formatStaysTheSame() throws {
        let state = SavedState(version: 3, values: ["row": .integer(-2), "list": .array([.boolean(true), .null])])
        let content: [UInt8] = [3, 6, 8, 2, 4] + Array("list".utf8) + [7, 2, 2, 0, 3] + Array("row".utf8) + [3, 3]
        #expect(state.bytes.starts(with: Array("openurl-state 1\n".utf8)))
        #expect(state.bytes.suffix(content.count) == content[...])
    }

    @Test func integerOfMoreThan64BitsIsRefused() {
        #expect(throws: EncodingError.self) { try ArchivedValue(encoding: Int128.max) }
        #expect(throws: EncodingError.self) { try ArchivedValue(encoding: [Int128.min]) }
    }

    @Test func tooDeepValuesAreRefusedByWriterAndReader() throws {
        indirect enum Nest: Codable {
            case end
            case more(Nest)
        }
        var nest = Nest.end
        for _ in 0..<300 { nest = .more(nest) }
        let deep = nest
        #expect(throws: EncodingError.self) { try ArchivedValue(encoding: deep) }

        let limit = ArchivedValue.maximumDepth
        func nested(_ depth: Int) -> [UInt8] { Array([[UInt8]](repeating: [7, 1], count: depth).joined()) + [0] }
        #expect(throws: Never.self) { try archived(nested(limit - 1)) }
        #expect(throws: ByteReader.Mismatch.self) { try archived(nested(limit)) }
    }

    @Test func valueOfAnotherTypeIsAnErrorWithItsPath() throws {
        let archived = try ArchivedValue(encoding: ["list": [300]])
        #expect {
            try archived.decoded(as: [String: [UInt8]].self)
        } throws: { error in
            guard case DecodingError.typeMismatch(_, let context) = error else { return false }
            return context.codingPath.map(\.stringValue) == ["list", "0"]
        }
        #expect(throws: DecodingError.self) { try archived.decoded(as: [String].self) }
        #expect(throws: DecodingError.self) { try archived.decoded(as: Everything.self) }
        for type in [Bool.self, String.self, Double.self, [String: Int].self] as [any Decodable.Type] {
            #expect(throws: DecodingError.self) { try ArchivedValue.integer(1).decoded(as: type) }
            #expect(throws: DecodingError.self) { try ArchivedValue.null.decoded(as: type) }
        }
        #expect(throws: DecodingError.self) { try ArchivedValue.string("1").decoded(as: Int.self) }
        #expect(throws: DecodingError.self) { try ArchivedValue.integer(-1).decoded(as: UInt.self) }
    }

    @Test func arrayThatEndsTooSoonIsAnError() throws {
        struct Pair: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode(Int.self)
                _ = try container.decode(Int.self)
            }
        }
        #expect(throws: DecodingError.self) { try ArchivedValue.array([.integer(1)]).decoded(as: Pair.self) }
    }

    // MARK: The contents of a file

    @Test func roundTripKeepsTheStateAndDamageIsRefused() throws {
        let state = SavedState(version: -7, values: ["filter": .string("today"), "row": .integer(300)])
        let bytes = state.bytes
        #expect(try SavedState(bytes: bytes) == state)
        #expect(throws: DamagedArchive.self) { try SavedState(bytes: []) }
        #expect(throws: DamagedArchive.self) { try SavedState(bytes: bytes + [0]) }
        for count in bytes.indices {
            #expect(throws: DamagedArchive.self) { try SavedState(bytes: Array(bytes[..<count])) }
        }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                // Numbers have more than one encoding, so a changed bit can encode the same checksum.
                do throws(DamagedArchive) {
                    #expect(try SavedState(bytes: damaged) == state, "byte \(index), bit \(bit)")
                } catch {}
            }
        }
    }

    @Test func randomBytesDoNotCrashTheReader() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...40, using: &generator)
            // Small bytes are mostly tags and short lengths.
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...(Bool.random() ? 10 : 255), using: &generator) }
            do throws(ByteReader.Mismatch) {
                let value = try archived(bytes)
                var writer = ByteWriter()
                writer.write(value)
                let copy = try archived(writer.bytes)
                // NaN does not equal itself.
                if !String(describing: value).contains("nan") { #expect(copy == value) }
            } catch {}
        }
    }
}
