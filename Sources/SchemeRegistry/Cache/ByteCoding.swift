/// Appends values to bytes: numbers with seven bits a byte, strings and lists after their count.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(_ number: Int64) {
        // Small negative numbers are short as well.
        write(UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    }

    mutating func write(_ flag: Bool) {
        bytes.append(flag ? 1 : 0)
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 {
            write(UInt64($0.count))
            bytes.append(contentsOf: $0)
        }
    }

    mutating func write<Element>(_ list: [Element], _ body: (inout ByteWriter, Element) -> Void) {
        write(UInt64(list.count))
        for element in list { body(&self, element) }
    }

    mutating func write<Value>(_ value: Value?, _ body: (inout ByteWriter, Value) -> Void) {
        write(value != nil)
        if let value { body(&self, value) }
    }
}

/// Takes values off bytes that a ``ByteWriter`` wrote.
struct ByteReader {
    /// The bytes are not what was expected.
    struct Mismatch: Error {}

    private var rest: UnsafeRawBufferPointer.SubSequence

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes[...]
    }

    /// Makes sure that there is nothing more.
    func end() throws(Mismatch) {
        guard rest.isEmpty else { throw Mismatch() }
    }

    mutating func byte() throws(Mismatch) -> UInt8 {
        guard let byte = rest.popFirst() else { throw Mismatch() }
        return byte
    }

    mutating func unsigned() throws(Mismatch) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw Mismatch()
    }

    mutating func signed() throws(Mismatch) -> Int64 {
        let number = try unsigned()
        return Int64(bitPattern: (number >> 1) ^ (0 &- (number & 1)))
    }

    mutating func flag() throws(Mismatch) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        default: throw Mismatch()
        }
    }

    mutating func string() throws(Mismatch) -> String {
        let count = try self.count()
        let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        rest = rest.dropFirst(count)
        // What is not UTF-8 is replaced, which costs nothing to look for.
        return String(decoding: bytes, as: UTF8.self)
    }

    mutating func list<Element>(
        _ body: (inout ByteReader) throws(Mismatch) -> Element
    ) throws(Mismatch) -> [Element] {
        let count = try self.count()
        var list: [Element] = []
        list.reserveCapacity(count)
        for _ in 0..<count { list.append(try body(&self)) }
        return list
    }

    mutating func optional<Value>(
        _ body: (inout ByteReader) throws(Mismatch) -> Value
    ) throws(Mismatch) -> Value? {
        try flag() ? try body(&self) : nil
    }

    /// How many bytes or elements follow; an element has a byte at least.
    private mutating func count() throws(Mismatch) -> Int {
        let count = try unsigned()
        guard count <= rest.count else { throw Mismatch() }
        return Int(count)
    }
}
