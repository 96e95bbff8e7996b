internal import CDBus

/// One message of libdbus, which is released with its last reference.
///
/// The class is unchecked `Sendable` because libdbus counts references atomically, and only the creator of a message
/// writes to it, before the message is sent.
final class Message: @unchecked Sendable {
    private(set) var pointer: OpaquePointer
    /// The upper bound of the size in bytes of a message that this program wrote.
    private(set) var size = 0

    /// Takes over a reference to a libdbus message.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        dbus_message_unref(pointer)
    }

    static func methodCall<Body: MessageBody>(
        _ interface: InterfaceName,
        _ member: MemberName,
        on object: RemoteObject,
        _ body: Body,
        limit: Int
    ) throws(MessageEncodingError) -> Message {
        try check(object.path, interface)
        var header = MessageHeader(.methodCall, startsService: object.startsService)
        header.add(.path, object.path.rawValue)
        header.add(.interface, interface.rawValue)
        header.add(.member, member.rawValue)
        if let destination = object.destination { header.add(.destination, destination.rawValue) }
        return try Message(header, body, limit: limit)
    }

    static func signal<Body: MessageBody>(
        _ interface: InterfaceName,
        _ member: MemberName,
        from path: ObjectPath,
        to destination: BusName? = nil,
        _ body: Body,
        limit: Int
    ) throws(MessageEncodingError) -> Message {
        try check(path, interface)
        var header = MessageHeader(.signal)
        header.add(.path, path.rawValue)
        header.add(.interface, interface.rawValue)
        header.add(.member, member.rawValue)
        if let destination { header.add(.destination, destination.rawValue) }
        return try Message(header, body, limit: limit)
    }

    static func reply(to call: ReplyAddress, _ body: some MessageBody, limit: Int) throws(MessageEncodingError)
        -> Message
    {
        try Message(MessageHeader(.methodReturn, to: call), body, limit: limit)
    }

    /// The bytes of an error's text from which on only the beginning is sent: the text may quote what the caller has sent.
    private static let errorBytes = 16 << 10

    static func error(to call: ReplyAddress, _ error: RemoteError, limit: Int) throws(MessageEncodingError) -> Message {
        var header = MessageHeader(.error, to: call)
        header.add(.errorName, error.name.rawValue)
        // An error with a changed text still tells the caller more than no answer.
        var text = error.message
        if text.utf8.contains(0) { text = text.split(separator: "\0").joined(separator: " ") }
        if text.utf8.count > min(limit / 2, errorBytes) {
            // The mark tells a reader that the end is missing: it may look for the beginning of a secret in front of the mark.
            text = String(text.unicodeScalars.prefix(1023)) + "…"
        }
        return try Message(header, text, limit: limit)
    }

    /// Writes a value of one type into a message and reads it as another type, like the two sides of a call.
    static func converted<Content: DBusType>(_ value: Value) throws -> Content {
        let address = ReplyAddress(sender: nil, serial: 1, isExpected: true)
        let message = try Message.reply(to: address, value, limit: .max)
        return try withExtendedLifetime(message) {
            var reader = MessageReader(message: message.pointer, limit: .max)
            return try VariantContent<Content>(from: &reader).content
        }
    }

    private static let reservedPath = "/org/freedesktop/DBus/Local"
    private static let reservedInterface = "org.freedesktop.DBus.Local"

    private static func check(_ path: ObjectPath, _ interface: InterfaceName) throws(MessageEncodingError) {
        if path.rawValue == reservedPath { throw .reservedName(reservedPath) }
        if interface.rawValue == reservedInterface { throw .reservedName(reservedInterface) }
    }

    /// The upper bound of a header's size without its path: at most seven names, each of at most 255 bytes.
    private static let headerSize = 2048

    private convenience init<Body: MessageBody>(
        _ header: consuming MessageHeader,
        _ body: Body,
        limit: Int
    ) throws(MessageEncodingError) {
        let signature = Body.signature
        // A signature that was combined from others may be too long or too deep.
        guard Signature.isValid(signature.rawValue.utf8) else { throw .inconsistentValue }
        let used = Self.headerSize + header.pathLength
        guard used <= limit else { throw .tooLarge(limit: limit) }
        let fields = header.bytes.count
        header.finish(signature)
        var writer = MessageWriter(after: header.bytes, signature, limit: limit, used: used)
        try body.write(to: &writer)
        try writer.finish()
        self.init(owning: try Self.checked(writer.bytes))
        size = writer.size
        guard !writer.descriptors.isEmpty else { return }
        // libdbus reads no descriptors from bytes, so the values are appended with the descriptors one by one.
        var bare = MessageHeader(fields: writer.bytes[..<fields])
        bare.finish(.empty)
        let message = Message(owning: try Self.checked(bare.bytes))
        var source = DBusMessageIter()
        var target = DBusMessageIter()
        dbus_message_iter_init(pointer, &source)
        dbus_message_iter_init_append(message.pointer, &target)
        var descriptors = writer.descriptors[...]
        guard Self.copy(&source, to: &target, &descriptors) else { throw .descriptorNotPassed }
        swap(&pointer, &message.pointer)
    }

    /// Makes a message of bytes, which libdbus checks.
    private static func checked(_ bytes: [UInt8]) throws(MessageEncodingError) -> OpaquePointer {
        guard let count = CInt(exactly: bytes.count) else { throw .tooLarge(limit: Int(CInt.max)) }
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        let pointer = bytes.withUnsafeBytes {
            dbus_message_demarshal($0.baseAddress?.assumingMemoryBound(to: CChar.self), count, &error)
        }
        if let pointer { return pointer }
        throw dbus_error_has_name(&error, DBUS_ERROR_NO_MEMORY) != 0 ? .outOfMemory : .inconsistentValue
    }

    /// Appends the values of a container or a body to another one, with the descriptors in order.
    ///
    /// - Returns: False if a descriptor cannot be duplicated, or memory ran out. The other message is then incomplete.
    private static func copy(
        _ source: inout DBusMessageIter,
        to target: inout DBusMessageIter,
        _ descriptors: inout ArraySlice<UnixFD>
    ) -> Bool {
        while case let code = dbus_message_iter_get_arg_type(&source), code != TypeCode.invalid {
            if code == TypeCode.unixFD {
                guard var descriptor = descriptors.popFirst()?.rawValue,
                    dbus_message_iter_append_basic(&target, code, &descriptor) != 0
                else { return false }
            } else if dbus_type_is_basic(code) != 0 {
                var value = DBusBasicValue()
                dbus_message_iter_get_basic(&source, &value)
                guard dbus_message_iter_append_basic(&target, code, &value) != 0 else { return false }
            } else {
                var contents = DBusMessageIter()
                var copy = DBusMessageIter()
                dbus_message_iter_recurse(&source, &contents)
                let isArray = code == TypeCode.array
                // The signature of an array begins with `a`. Structures and entries are opened without a signature.
                let types = isArray ? dbus_message_iter_get_signature(&source) : dbus_message_iter_get_signature(&contents)
                defer { dbus_free(types) }
                let signature = isArray ? types.map { $0 + 1 } : code == TypeCode.variant ? types : nil
                guard dbus_message_iter_open_container(&target, code, signature, &copy) != 0 else { return false }
                guard Self.copy(&contents, to: &copy, &descriptors) else {
                    dbus_message_iter_abandon_container(&target, &copy)
                    return false
                }
                guard dbus_message_iter_close_container(&target, &copy) != 0 else { return false }
            }
            dbus_message_iter_next(&source)
        }
        return true
    }
}

/// The destination of the answer to a call.
struct ReplyAddress: Sendable {
    let sender: BusName?
    let serial: UInt32
    let isExpected: Bool
}

extension ReplyAddress {
    init(ofCall pointer: OpaquePointer, from sender: BusName?) {
        self.sender = sender
        serial = dbus_message_get_serial(pointer)
        isExpected = dbus_message_get_no_reply(pointer) == 0
    }
}

/// An object of another program.
public struct RemoteObject: Sendable, Hashable {
    /// The connection that exports the object; nil for the other end of a connection without a bus.
    public let destination: BusName?
    /// The object's path.
    public let path: ObjectPath

    /// Whether the bus may start the service that provides the destination's name. The corresponding C function is
    /// `dbus_message_set_auto_start`.
    public let startsService: Bool

    /// Creates a reference to an object.
    public init(_ destination: BusName?, _ path: ObjectPath, startsService: Bool = true) {
        self.destination = destination
        self.path = path
        self.startsService = startsService
    }
}
