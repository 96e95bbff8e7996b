/// The 64-bit FNV-1a hash (<http://www.isthe.com/chongo/tech/comp/fnv/>) of bytes.
///
/// It detects damage. It does not protect against tampering, but only the user can write the files that it covers.
public struct Checksum {
    /// The hash of the bytes that have been added so far.
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Creates the checksum of no bytes.
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

    /// Adds the number of bytes, and then the bytes themselves. Without the number, bytes could move from one string to
    /// the next unnoticed.
    public mutating func addCounted(_ bytes: UnsafeRawBufferPointer) {
        unsafe withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { unsafe add($0) }
        unsafe add(bytes)
    }
}
