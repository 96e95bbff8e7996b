/// A key in an `a{sv}` whose value always has the same type.
///
/// An entry starts at a multiple of 8 bytes, so its key and the signature of its variant have the same bytes in every message.
/// They are made once.
public struct EntryKey: Sendable {
    /// The key.
    public let text: String
    /// The type of the values.
    public let type: Signature
    /// The code of a one-letter type; 0 for any other type.
    let code: UInt8
    /// The key, as a string in the wire format, followed by the signature.
    let bytes: [UInt8]

    /// Creates a key. Because a key is one of the program's constants, a NUL in it is a programming error, and the
    /// process stops.
    ///
    /// - Parameters:
    ///   - text: The key.
    ///   - type: The type of the values, which is one complete type.
    public init(_ text: String, _ type: Signature) {
        precondition(type.isSingle, "'\(type)' is not one type")
        self.text = text
        self.type = type
        code = type.rawValue.utf8.count == 1 ? type.rawValue.utf8.first ?? 0 : 0
        var buffer = ByteBuffer(capacity: 64)
        let isWritten = buffer.append(text: text)
        precondition(isWritten, "a key has a NUL")
        buffer.append(signature: type)
        bytes = buffer.array
    }
}
