/// A message that this program has written but not sent yet.
///
/// This module writes and reads messages itself, because libdbus's functions take six times as long for a dictionary
/// with ten values, hold libdbus's locks, and end the process if a type is wrong.
struct WrittenMessage {
    /// The whole message. Its header does not contain the number of descriptors.
    private(set) var bytes: [UInt8]
    /// Duplicates of the descriptors in the body, in order.
    let descriptors: [UnixFD]
    /// An upper bound on the size, in bytes.
    let size: Int
    /// Number of header bytes before the fields that describe the body.
    let fieldsEnd: Int

    static func methodCall<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        limit: Int
    ) throws(MessageEncodingError) -> WrittenMessage {
        try check(object.path, method.interface)
        guard let signature = method.inputSignature else { throw .inconsistentValue }
        var header = MessageHeader(.methodCall, startsService: object.startsService)
        header.add(.path, object.path.rawValue)
        header.add(.interface, method.interface.rawValue)
        header.add(.member, method.name.rawValue)
        if let destination = object.destination { header.add(.destination, destination.rawValue) }
        return try WrittenMessage(header, input, signature, limit: limit)
    }

    /// Writes a call like ``methodCall(_:on:_:limit:)``, but throws the error that the caller gets.
    static func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input,
        limit: Int
    ) throws(CallError) -> WrittenMessage {
        do throws(MessageEncodingError) {
            return try methodCall(method, on: object, input, limit: limit)
        } catch {
            throw .notSent(error)
        }
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

    /// Maximum size of an error's text, in bytes. A longer text is cut off: it may quote what the caller has sent.
    private static let errorBytes = 16 << 10

    static func error(to call: ReplyAddress, _ error: RemoteError, limit: Int) throws(MessageEncodingError)
        -> WrittenMessage
    {
        var header = MessageHeader(.error, to: call)
        header.add(.errorName, error.name.rawValue)
        // An error with a changed text still helps the caller more than no answer.
        var text = error.message
        if text.utf8.contains(0) { text = text.split(separator: "\0").joined(separator: " ") }
        if text.utf8.count > min(limit / 2, errorBytes) {
            // Mark the missing end. Readers that hide a secret when they see its beginning may look for it in front of
            // the mark.
            text = String(text.unicodeScalars.prefix(1023)) + "…"
        }
        return try WrittenMessage(header, text, limit: limit)
    }

    private static func check(_ path: ObjectPath, _ interface: InterfaceName) throws(MessageEncodingError) {
        if path == MessageHeader.reservedPath { throw .reservedName(path.rawValue) }
        if interface == MessageHeader.reservedInterface { throw .reservedName(interface.rawValue) }
    }

    /// An upper bound on a header's size without its path: at most seven names, each of at most 255 bytes.
    private static let headerSize = 2048

    private init<Body: MessageBody>(
        _ header: consuming MessageHeader,
        _ body: borrowing Body,
        limit: Int
    ) throws(MessageEncodingError) {
        let signature = Body.signature
        guard signature.isSendable else { throw .inconsistentValue }
        try self.init(header, body, signature, limit: limit)
    }

    private init<Body: MessageBody>(
        _ header: consuming MessageHeader,
        _ body: borrowing Body,
        _ signature: Signature,
        limit: Int
    ) throws(MessageEncodingError) {
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

    /// Marks a call that needs no answer.
    mutating func expectNoAnswer() {
        MessageHeader.expectNoAnswer(to: &bytes)
    }
}
