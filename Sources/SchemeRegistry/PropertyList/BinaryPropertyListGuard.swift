internal import ByteCoding
internal import UserFiles

/// Checks that a binary property list cannot harm the decoder.
///
/// It follows every reference from the top object, as the decoder does, but without recursion and within
/// ``PropertyListLimits``. It rejects everything that does not have exactly the layout of `CFBinaryPList.c`: the magic
/// `bplist00`, the objects, a table of their offsets and a 32-byte trailer, with all numbers in big-endian order.
struct BinaryPropertyListGuard {
    static let magic = Array("bplist00".utf8)

    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let topObject: Int
    private let offsetTable: Int

    /// Reads the trailer.
    init(_ bytes: [UInt8]) throws(PropertyListError) {
        self.bytes = bytes
        let trailer = bytes.count - 32
        guard trailer > Self.magic.count else { throw .corrupt("it is too short") }
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw .corrupt("its trailer gives integers of impossible size")
        }
        objectCount = try Self.integer(in: bytes, at: trailer + 8, size: 8)
        topObject = try Self.integer(in: bytes, at: trailer + 16, size: 8)
        offsetTable = try Self.integer(in: bytes, at: trailer + 24, size: 8)
        // Limit the count to the file's size first, so that the multiplication cannot overflow.
        guard objectCount > 0, objectCount <= bytes.count, offsetTable > Self.magic.count,
            offsetTable <= trailer - objectCount * offsetSize
        else { throw .corrupt("its table of offsets is not within the file") }
    }

    /// Walks the tree of objects. Throws an error if the tree exceeds a limit or is damaged, or if a dictionary has a key
    /// twice: the decoder would take one of the two values at random, so a check and a later reading could differ.
    func check() throws(PropertyListError) {
        var pending = [topObject]
        var dictionaries: Set<Range<Int>> = []
        var containers = 0
        var values = 1
        var payload = 0
        var marks = 0
        while let object = pending.popLast() {
            switch try content(of: object) {
            case .bytes(let range):
                payload += range.count
                guard payload <= PropertyListLimits.payload else { throw .tooLarge }
            case .text(let range):
                payload += range.count
                guard payload <= PropertyListLimits.payload else { throw .tooLarge }
                marks += text(in: range).unicodeScalars.count(where: \.isMark)
                guard marks <= PropertyListLimits.marks else { throw .tooManyMarks }
            case .references(let range, let keys):
                containers += 1
                dictionaries.insert(keys)
                guard containers <= PropertyListLimits.containers else { throw .tooManyContainers }
                values += range.count / referenceSize
                guard values <= PropertyListLimits.values else { throw .tooLarge }
                for offset in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
                    pending.append(try Self.integer(in: bytes, at: offset, size: referenceSize))
                }
            }
        }
        // Within the limit on marks, keys take little time to compare.
        for keys in dictionaries { try checkKeys(keys) }
    }

    private func checkKeys(_ references: Range<Int>) throws(PropertyListError) {
        var seen: Set<String> = []
        for offset in stride(from: references.lowerBound, to: references.upperBound, by: referenceSize) {
            let object = try Self.integer(in: bytes, at: offset, size: referenceSize)
            let key: String
            switch try content(of: object) {
            case .text(let range): key = text(in: range)
            // The decoder refuses a key that is not a string.
            case .bytes(let range): key = String(decoding: bytes[range], as: UTF8.self)
            case .references: throw .corrupt("a key is not a string")
            }
            guard seen.insert(key).inserted else { throw .corrupt("a dictionary has a key twice: '\(printable(key))'") }
        }
    }

    private enum Content {
        /// Any other object, in this range of the file.
        case bytes(Range<Int>)
        /// A UTF-16 string, in this range of the file.
        case text(Range<Int>)
        /// References to other objects, in this range of the file. Those in the second range are a dictionary's keys.
        case references(Range<Int>, keys: Range<Int>)
    }

    private func content(of object: Int) throws(PropertyListError) -> Content {
        guard object < objectCount else { throw .corrupt("it refers to an object that it does not have") }
        let start = try Self.integer(in: bytes, at: offsetTable + object * offsetSize, size: offsetSize)
        guard start >= Self.magic.count, start < offsetTable else {
            throw .corrupt("an object is not within the file")
        }
        let low = Int(bytes[start] & 0x0F)
        var next = start + 1
        let length: Int
        var isReferences = false
        var keyLength = 0
        var isText = false
        switch (bytes[start] >> 4, low) {
        case (0x0, 0x0), (0x0, 0x8), (0x0, 0x9): length = 0
        case (0x1, 0...4): length = 1 << low
        case (0x2, 2...3): length = 1 << low
        case (0x3, 0x3): length = 8
        case (0x4, _), (0x5, _): length = try count(low, at: &next)
        case (0x6, _):
            length = try count(low, at: &next) * 2
            isText = true
        case (0x8, 0...7): length = low + 1
        case (0xA, _), (0xC, _):
            length = try count(low, at: &next) * referenceSize
            isReferences = true
        case (0xD, _):
            keyLength = try count(low, at: &next) * referenceSize
            length = keyLength * 2
            isReferences = true
        default: throw .corrupt("it has an object of unknown type")
        }
        guard length <= offsetTable - next else { throw .corrupt("an object extends past the end of the objects") }
        let range = next..<next + length
        if isReferences { return .references(range, keys: next..<next + keyLength) }
        return isText ? .text(range) : .bytes(range)
    }

    /// Decodes a UTF-16 string.
    private func text(in range: Range<Int>) -> String {
        let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map { index in
            UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1])
        }
        return String(decoding: units, as: UTF16.self)
    }

    /// Reads a number of elements: the low half of the marker or, if that is 15, the integer object that follows.
    ///
    /// The number is at most the file's size, so multiplying it cannot overflow.
    private func count(_ low: Int, at next: inout Int) throws(PropertyListError) -> Int {
        guard low == 0x0F else { return low }
        guard next < offsetTable, bytes[next] >> 4 == 0x1, bytes[next] & 0x0F <= 3 else {
            throw .corrupt("a count is not an integer")
        }
        let size = 1 << Int(bytes[next] & 0x0F)
        guard size < offsetTable - next else { throw .corrupt("an object extends past the end of the objects") }
        let count = try Self.integer(in: bytes, at: next + 1, size: size)
        next += 1 + size
        guard count <= bytes.count else { throw .corrupt("an object extends past the end of the objects") }
        return count
    }

    private static func integer(in bytes: [UInt8], at offset: Int, size: Int) throws(PropertyListError) -> Int {
        let value = bytes[offset..<offset + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let integer = Int(exactly: value) else { throw .corrupt("a number is too large") }
        return integer
    }
}
