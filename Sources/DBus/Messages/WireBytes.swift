/// The bytes of a message, by "Marshaling (Wire Format)" in the D-Bus specification.
extension [UInt8] {
    /// Appends zeros up to a multiple of a power of two.
    mutating func pad(to alignment: Int) {
        while count & (alignment - 1) != 0 { append(0) }
    }

    /// Appends a number with its padding.
    mutating func append<Number: BitwiseCopyable>(number: Number) {
        pad(to: MemoryLayout<Number>.size)
        Swift.withUnsafeBytes(of: number) { append(contentsOf: $0) }
    }

    /// Appends a string or an object path, whose bytes have no NUL.
    mutating func append(text: UnsafeBufferPointer<UInt8>) {
        append(number: UInt32(text.count))
        append(contentsOf: text)
        append(0)
    }

    /// Appends a valid signature.
    mutating func append(signature: Signature) {
        append(UInt8(signature.rawValue.utf8.count))
        append(contentsOf: signature.rawValue.utf8)
        append(0)
    }

    /// Replaces the bytes of a number.
    mutating func set(_ number: UInt32, at place: Int) {
        withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: place, as: UInt32.self) }
    }
}
