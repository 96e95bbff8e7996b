import ByteCoding
import Testing

@Suite struct ByteCodingTests {
    @Test func numbersOfAnySizeAreRead() throws {
        let numbers = [0, 1, 63, 64, 127, 128, .max, .min, -1, -64, -65] as [Int64]
        var writer = ByteWriter()
        for number in numbers {
            writer.write(number)
            writer.write(UInt64(bitPattern: number))
        }
        try writer.bytes.withUnsafeBytes {
            var reader = ByteReader($0)
            for number in numbers {
                #expect(try reader.signed() == number)
                #expect(try reader.unsigned() == UInt64(bitPattern: number))
            }
            try reader.end()
        }
        #expect(throws: ByteReader.Mismatch.self) {
            try [UInt8](repeating: 0x80, count: 11).withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                _ = try reader.unsigned()
            }
        }
    }

    @Test func textsListsAndOptionalsAreRead() throws {
        var writer = ByteWriter()
        writer.write("žluťoučký\0🐎")
        writer.write(["a", "", "b"]) { $0.write($1) }
        writer.write(String?.none) { $0.write($1) }
        writer.write("x") { (writer: inout ByteWriter, text: String) in writer.write(text) }
        writer.write(byte: 7)
        try writer.bytes.withUnsafeBytes {
            var reader = ByteReader($0)
            #expect(try reader.string() == "žluťoučký\0🐎")
            let list = try reader.list { (reader) throws(ByteReader.Mismatch) in try reader.string() }
            #expect(list == ["a", "", "b"])
            #expect(try reader.optional { (reader) throws(ByteReader.Mismatch) in try reader.string() } == nil)
            #expect(try reader.optional { (reader) throws(ByteReader.Mismatch) in try reader.string() } == "x")
            #expect(reader.remaining.elementsEqual([7]))
            #expect(try reader.byte() == 7)
            try reader.end()
        }
    }

    /// A count beyond the end of the bytes must not make the reader ask for memory.
    @Test(arguments: [[5, 1], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], []] as [[UInt8]])
    func impossibleCountIsRefused(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            #expect(throws: ByteReader.Mismatch.self) {
                var reader = ByteReader(bytes)
                _ = try reader.list { (reader) throws(ByteReader.Mismatch) in try reader.byte() }
            }
            #expect(throws: ByteReader.Mismatch.self) {
                var reader = ByteReader(bytes)
                _ = try reader.string()
            }
        }
    }

    /// The test vectors of the hash's authors.
    @Test(
        arguments: [
            ("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8),
        ] as [(String, UInt64)]
    )
    func checksumIsFNV1a(_ text: String, _ expected: UInt64) {
        var checksum = Checksum()
        Array(text.utf8).withUnsafeBytes { checksum.add($0) }
        #expect(checksum.value == expected)
    }

    @Test func checksumDependsOnTheEndsOfTexts() {
        func value(_ texts: String...) -> UInt64 {
            var checksum = Checksum()
            for text in texts { Array(text.utf8).withUnsafeBytes { checksum.addCounted($0) } }
            return checksum.value
        }
        #expect(value("ab", "c") != value("a", "bc"))
    }
}
