internal import CDBus

/// A message's body as bytes, for what is to be kept in a file and sent, or looked at, later.
///
/// It is what would go over the wire, in libdbus's own format: a whole message around the body, which is checked when it is
/// read, whatever became of the file meanwhile.
public enum MessageArchive {
    private static let interface: InterfaceName = "org.freedesktop.DBus.Archive"

    /// Turns a body into bytes.
    ///
    /// - Parameter limit: the largest size in bytes.
    /// - Throws: ``MessageEncodingError``; ``MessageEncodingError/descriptorNotPassed`` for a body that holds a descriptor,
    ///   which means nothing in a file.
    public static func bytes<Body: MessageBody>(of body: Body, limit: Int) throws(MessageEncodingError) -> [UInt8] {
        let message = try Message.signal(interface, "Body", from: "/", body, limit: limit)
        guard dbus_message_contains_unix_fds(message.pointer) == 0 else { throw .descriptorNotPassed }
        dbus_message_set_serial(message.pointer, 1)
        var bytes: UnsafeMutablePointer<CChar>?
        var count: CInt = 0
        guard dbus_message_marshal(message.pointer, &bytes, &count) != 0, let bytes else { throw .outOfMemory }
        defer { dbus_free(bytes) }
        return UnsafeRawBufferPointer(start: bytes, count: Int(count)).map { $0 }
    }

    /// Reads a body from bytes.
    ///
    /// - Throws: ``MessageDecodingError`` for bytes that are no message, or one of another type.
    public static func body<Body: MessageBody>(from bytes: [UInt8]) throws(MessageDecodingError) -> Body {
        let pointer: OpaquePointer? = bytes.withUnsafeBytes { buffer in
            guard let count = CInt(exactly: buffer.count) else { return nil }
            return dbus_message_demarshal(buffer.baseAddress?.assumingMemoryBound(to: CChar.self), count, nil)
        }
        guard let pointer else { throw .invalidValue("the bytes are no message") }
        let message = Message(owning: pointer)
        // What was not too large when it was written is not when it is read.
        return try Message.body(message.pointer, limit: .max)
    }
}
