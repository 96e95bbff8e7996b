/// The 64-bit FNV-1a hash (<http://www.isthe.com/chongo/tech/comp/fnv/>) of bytes.
///
/// It finds damage. It does not protect against malice, but only the user can write the files that it covers.
public struct Checksum {
    /// The hash of the bytes so far.
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Starts with the hash of no bytes.
    public init() {}

    /// Adds bytes.
    public mutating func add(_ bytes: UnsafeRawBufferPointer) {
        for index in bytes.indices { unsafe add(bytes[index]) }
    }

    /// Adds the bytes of a string.
    public mutating func add(_ text: String) {
        for byte in text.utf8 { add(byte) }
    }

    private mutating func add(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
    }

    /// Adds the count of some bytes, and then the bytes. Without the count, bytes could move from one text to the next
    /// unnoticed.
    public mutating func addCounted(_ bytes: UnsafeRawBufferPointer) {
        unsafe withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { unsafe add($0) }
        unsafe add(bytes)
    }
}
