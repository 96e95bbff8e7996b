/// A buffer for the bytes of the values that you append.
///
/// A number uses seven bits of each byte, the lowest bits first; if the highest bit of a byte is set, another byte
/// follows. Strings and lists begin with their length. No types are written, so the reader must ask for the same types
/// in the same order.
public struct ByteWriter {
    /// The bytes of the values that have been appended so far.
    public private(set) var bytes: [UInt8] = []

    /// Creates an empty buffer.
    public init() {}

    /// Removes all bytes, but keeps their memory.
    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Appends one byte as it is.
    public mutating func write(byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends a number. A small number takes few bytes.
    public mutating func write(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Appends a number. A number near zero takes few bytes, regardless of its sign.
    public mutating func write(_ number: Int64) {
        write(UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    }

    /// Appends a flag as one byte.
    public mutating func write(_ flag: Bool) {
        bytes.append(flag ? 1 : 0)
    }

    /// Appends a string in UTF-8, preceded by its length in bytes.
    public mutating func write(_ text: String) {
        var text = text
        text.withUTF8 {
            write(UInt64($0.count))
            unsafe bytes.append(contentsOf: $0)
        }
    }

    /// Appends a list, preceded by the number of its elements.
    ///
    /// - Parameter body: appends one element.
    @inlinable
    public mutating func write<Element>(_ list: [Element], _ body: (inout ByteWriter, Element) -> Void) {
        write(UInt64(list.count))
        for element in list { body(&self, element) }
    }

    /// Appends a flag, and a value if there is one.
    ///
    /// - Parameter body: appends the value.
    @inlinable
    public mutating func write<Value>(_ value: Value?, _ body: (inout ByteWriter, Value) -> Void) {
        write(value != nil)
        if let value { body(&self, value) }
    }
}
