/// A message's body as bytes that can be stored in a file, and sent or read later.
///
/// The bytes form a whole message that contains the body. The message is checked when it is read, so a damaged file
/// does no harm.
public enum MessageArchive {
    private static let interface: InterfaceName = "org.freedesktop.DBus.Archive"
    private static let member: MemberName = "Body"
    private static let path: ObjectPath = "/"

    /// Returns the bytes of a body.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - limit: The maximum size in bytes.
    /// - Throws: ``MessageEncodingError``, which is ``MessageEncodingError/descriptorNotPassed`` for a body with a
    ///   descriptor, because a descriptor means nothing in a file.
    public static func bytes<Body: MessageBody>(of body: Body, limit: Int) throws(MessageEncodingError) -> [UInt8] {
        let message = try WrittenMessage.signal(interface, member, from: path, body, limit: limit)
        guard message.descriptors.isEmpty else { throw .descriptorNotPassed }
        return message.bytes
    }

    /// Reads a body from bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - limit: The maximum memory in bytes that the values may take, which can be many times the number of bytes. Give
    ///     a limit for bytes that another program has written.
    /// - Throws: ``MessageDecodingError`` if the bytes are not a message, if the body has another type, or if it is too
    ///   large.
    public static func body<Body: MessageBody>(
        from bytes: [UInt8],
        limit: Int = .max
    ) throws(MessageDecodingError) -> Body {
        let message: Message
        do throws(MalformedMessage) {
            message = try Message(bytes)
        } catch {
            throw .invalidValue("the bytes are not a message")
        }
        guard message.isValid else { throw .invalidValue("the bytes are not a message") }
        return try message.contents(limit: limit)
    }
}
