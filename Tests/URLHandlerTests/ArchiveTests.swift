import Testing

@testable import URLHandler

/// The coding of values in the file of a handler's state.
struct ArchiveTests {
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
        var writer = ArchiveWriter()
        writer.append(try ArchivedValue(encoding: value))
        var reader = ArchiveReader(writer.bytes[...])
        let archived = try reader.value()
        #expect(reader.rest.isEmpty)
        return try archived.decoded(as: Content.self)
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
        var accepted = ArchiveReader(
            ([UInt8](repeating: 0, count: 2 * (limit - 1)).enumerated().map {
                $0.offset.isMultiple(of: 2) ? 7 : 1
            } + [0])[...]
        )
        #expect(throws: Never.self) { try accepted.value() }
        var refused = ArchiveReader((0..<2 * limit).map { UInt8($0.isMultiple(of: 2) ? 7 : 1) }[...])
        #expect(throws: DamagedArchive.self) { try refused.value() }
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
            var reader = ArchiveReader(bytes[...])
            do throws(DamagedArchive) {
                let value = try reader.value()
                var writer = ArchiveWriter()
                writer.append(value)
                var again = ArchiveReader(writer.bytes[...])
                let copy = try again.value()
                // NaN does not equal itself.
                if !String(describing: value).contains("nan") { #expect(copy == value) }
            } catch {}
        }
    }
}
