/// Reads values from the bytes that a ``ByteWriter`` wrote, in the order in which they were written.
///
/// If the bytes come from anywhere else, you get an error or wrong values, but the reader does not crash, and no string
/// or list is longer than the bytes. To rule out wrong values, compare a ``Checksum`` first.
///
/// Reading a cache of 100,000 manifests calls these functions millions of times. They are inlinable and public because
/// the compiler specializes only such functions for other modules: with `package`, reading took 2.7 times as long.
@safe public struct ByteReader {
    /// The bytes are not those of the expected values.
    public struct Mismatch: Error {
        /// A mismatch.
        @inlinable public init() {}
    }

    /// Bytes that have not been read. The initializer's caller promises that they stay in memory, so only the
    /// initializer is unsafe.
    @usableFromInline var rest: UnsafeRawBufferPointer.SubSequence

    /// Creates a reader of bytes, which must stay in memory as long as the reader is used.
    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer) {
        unsafe rest = unsafe bytes[...]
    }

    /// Bytes that have not been read.
    public var remaining: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: rest) }

    /// Checks that every byte has been read.
    public func end() throws(Mismatch) {
        guard unsafe rest.isEmpty else { throw Mismatch() }
    }

    /// Reads one byte.
    @inlinable
    public mutating func byte() throws(Mismatch) -> UInt8 {
        guard let byte = unsafe rest.popFirst() else { throw Mismatch() }
        return byte
    }

    /// Reads an unsigned number.
    @inlinable
    public mutating func unsigned() throws(Mismatch) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw Mismatch()
    }

    /// Reads a signed number.
    @inlinable
    public mutating func signed() throws(Mismatch) -> Int64 {
        let number = try unsigned()
        return Int64(bitPattern: (number >> 1) ^ (0 &- (number & 1)))
    }

    /// Reads a flag.
    @inlinable
    public mutating func flag() throws(Mismatch) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        default: throw Mismatch()
        }
    }

    /// Reads a string. Invalid UTF-8 is replaced, because a check would have to look at each byte again after the
    /// checksum.
    @inlinable
    public mutating func string() throws(Mismatch) -> String {
        let count = try self.count()
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        unsafe rest = unsafe rest.dropFirst(count)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a list.
    ///
    /// - Parameter body: reads one element, which takes at least one byte.
    @inlinable
    public mutating func list<Element>(
        _ body: (inout ByteReader) throws(Mismatch) -> Element
    ) throws(Mismatch) -> [Element] {
        let count = try self.count()
        var list: [Element] = []
        list.reserveCapacity(count)
        for _ in 0..<count { list.append(try body(&self)) }
        return list
    }

    /// Reads a flag, and a value if the flag is set.
    ///
    /// - Parameter body: reads the value.
    @inlinable
    public mutating func optional<Value>(
        _ body: (inout ByteReader) throws(Mismatch) -> Value
    ) throws(Mismatch) -> Value? {
        try flag() ? try body(&self) : nil
    }

    /// Reads the count of the bytes or elements that follow. Because each takes at least one byte, a larger count is a
    /// mismatch.
    @inlinable
    public mutating func count() throws(Mismatch) -> Int {
        let count = try unsigned()
        guard unsafe count <= rest.count else { throw Mismatch() }
        return Int(count)
    }
}
