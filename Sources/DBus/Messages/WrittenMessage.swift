/// A message that this program has written and that has not been sent.
///
/// libdbus's own functions for a dictionary of ten values take six times as long as the module's writer, under libdbus's
/// locks, and end the process for a wrong type. The module therefore writes and reads messages itself.
struct WrittenMessage {
    /// The whole message, whose header does not tell the number of descriptors.
    private(set) var bytes: [UInt8]
    /// Duplicates of the descriptors in the body, in order.
    let descriptors: [UnixFD]
    /// The upper bound of the size in bytes.
    let size: Int
    /// The bytes of the header in front of the fields that tell about the body.
    let fieldsEnd: Int

    static func methodCall<Body: MessageBody>(
        _ interface: InterfaceName,
        _ member: MemberName,
        on object: RemoteObject,
        _ body: Body,
        limit: Int
    ) throws(MessageEncodingError) -> WrittenMessage {
        try check(object.path, interface)
        var header = MessageHeader(.methodCall, startsService: object.startsService)
        header.add(.path, object.path.rawValue)
        header.add(.interface, interface.rawValue)
        header.add(.member, member.rawValue)
        if let destination = object.destination { header.add(.destination, destination.rawValue) }
        return try WrittenMessage(header, body, limit: limit)
    }

    static func signal<Body: MessageBody>(
        _ interface: InterfaceName,
        _ member: MemberName,
        from path: ObjectPath,
        to destination: BusName? = nil,
        _ body: Body,
        limit: Int
    ) throws(MessageEncodingError) -> WrittenMessage {
        try check(path, interface)
        var header = MessageHeader(.signal)
        header.add(.path, path.rawValue)
        header.add(.interface, interface.rawValue)
        header.add(.member, member.rawValue)
        if let destination { header.add(.destination, destination.rawValue) }
        return try WrittenMessage(header, body, limit: limit)
    }

    static func reply(to call: ReplyAddress, _ body: some MessageBody, limit: Int) throws(MessageEncodingError)
        -> WrittenMessage
    {
        try WrittenMessage(MessageHeader(.methodReturn, to: call), body, limit: limit)
    }

    /// The bytes of an error's text from which on only the beginning is sent: the text may quote what the caller has sent.
    private static let errorBytes = 16 << 10

    static func error(to call: ReplyAddress, _ error: RemoteError, limit: Int) throws(MessageEncodingError)
        -> WrittenMessage
    {
        var header = MessageHeader(.error, to: call)
        header.add(.errorName, error.name.rawValue)
        // An error with a changed text still tells the caller more than no answer.
        var text = error.message
        if text.utf8.contains(0) { text = text.split(separator: "\0").joined(separator: " ") }
        if text.utf8.count > min(limit / 2, errorBytes) {
            // The mark tells a reader that the end is missing: it may look for the beginning of a secret in front of the mark.
            text = String(text.unicodeScalars.prefix(1023)) + "…"
        }
        return try WrittenMessage(header, text, limit: limit)
    }

    private static func check(_ path: ObjectPath, _ interface: InterfaceName) throws(MessageEncodingError) {
        if path == MessageHeader.reservedPath { throw .reservedName(path.rawValue) }
        if interface == MessageHeader.reservedInterface { throw .reservedName(interface.rawValue) }
    }

    /// The upper bound of a header's size without its path: at most seven names, each of at most 255 bytes.
    private static let headerSize = 2048

    private init<Body: MessageBody>(
        _ header: consuming MessageHeader,
        _ body: Body,
        limit: Int
    ) throws(MessageEncodingError) {
        let signature = Body.signature
        // A signature that was combined from others may be too long or too deep.
        guard Signature.isValid(signature.rawValue.utf8) else { throw .inconsistentValue }
        let used = Self.headerSize + header.pathLength
        guard used <= limit else { throw .tooLarge(limit: limit) }
        fieldsEnd = header.bytes.count
        header.finish(signature)
        var writer = MessageWriter(after: header.bytes, signature, limit: limit, used: used)
        try body.write(to: &writer)
        bytes = try writer.finish()
        size = writer.size
        descriptors = writer.descriptors
    }

    /// The bytes as they are sent.
    var sentBytes: [UInt8] {
        guard !descriptors.isEmpty else { return bytes }
        var sent = bytes
        MessageHeader.addDescriptors(descriptors.count, to: &sent, after: fieldsEnd)
        return sent
    }

    /// Marks a call to which no answer is awaited.
    mutating func expectNoAnswer() {
        MessageHeader.expectNoAnswer(to: &bytes)
    }
}
