internal import CDBus

/// One message of libdbus, which is released with its last reference.
///
/// The class is unchecked `Sendable` because libdbus counts references atomically, and only the creator of a message
/// writes to it, before the message is sent.
final class Message: @unchecked Sendable {
    let pointer: OpaquePointer
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
        let pointer = object.destination.withCString { destination in
            object.path.withCString { path in
                interface.withCString { interface in
                    member.withCString { dbus_message_new_method_call(destination, path, interface, $0) }
                }
            }
        }
        guard let pointer else { throw .outOfMemory }
        let message = Message(owning: pointer)
        if !object.startsService { dbus_message_set_auto_start(pointer, 0) }
        try message.write(body, limit: limit, pathLength: object.path.rawValue.utf8.count)
        return message
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
        let pointer = path.withCString { path in
            interface.withCString { interface in member.withCString { dbus_message_new_signal(path, interface, $0) } }
        }
        guard let pointer else { throw .outOfMemory }
        let message = Message(owning: pointer)
        if let destination { try message.setDestination(destination) }
        try message.write(body, limit: limit, pathLength: path.rawValue.utf8.count)
        return message
    }

    static func reply(to call: ReplyAddress, _ body: some MessageBody, limit: Int) throws(MessageEncodingError)
        -> Message
    {
        guard let pointer = dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_RETURN) else { throw .outOfMemory }
        let message = Message(owning: pointer)
        try message.address(to: call)
        try message.write(body, limit: limit)
        return message
    }

    /// The bytes of an error's text from which on only the beginning is sent: the text may quote what the caller has sent.
    private static let errorBytes = 16 << 10

    static func error(to call: ReplyAddress, _ error: RemoteError, limit: Int) throws(MessageEncodingError) -> Message {
        guard let pointer = dbus_message_new(DBUS_MESSAGE_TYPE_ERROR) else { throw .outOfMemory }
        let message = Message(owning: pointer)
        try message.address(to: call)
        guard error.name.withCString({ dbus_message_set_error_name(pointer, $0) }) != 0 else { throw .outOfMemory }
        // An error with a changed text still tells the caller more than no answer.
        var text = error.message
        if text.utf8.contains(0) { text = text.split(separator: "\0").joined(separator: " ") }
        if text.utf8.count > min(limit / 2, errorBytes) {
            // The mark tells a reader that the end is missing: it may look for the beginning of a secret in front of the mark.
            text = String(text.unicodeScalars.prefix(1023)) + "…"
        }
        try message.write(text, limit: limit)
        return message
    }

    /// Writes a value of one type into a message and reads it as another type, like the two sides of a call.
    static func converted<Content: DBusType>(_ value: Value) throws -> Content {
        guard let pointer = dbus_message_new(DBUS_MESSAGE_TYPE_SIGNAL) else { throw MessageEncodingError.outOfMemory }
        let message = Message(owning: pointer)
        try message.write(value, limit: .max)
        return try withExtendedLifetime(message) {
            var reader = MessageReader(message: pointer, limit: .max)
            return try VariantContent<Content>(from: &reader).content
        }
    }

    private static let reservedPath = "/org/freedesktop/DBus/Local"
    private static let reservedInterface = "org.freedesktop.DBus.Local"

    private static func check(_ path: ObjectPath, _ interface: InterfaceName) throws(MessageEncodingError) {
        if path.rawValue == reservedPath { throw .reservedName(reservedPath) }
        if interface.rawValue == reservedInterface { throw .reservedName(reservedInterface) }
    }

    private func address(to call: ReplyAddress) throws(MessageEncodingError) {
        guard dbus_message_set_reply_serial(pointer, call.serial) != 0 else { throw .outOfMemory }
        if let sender = call.sender { try setDestination(sender) }
        dbus_message_set_no_reply(pointer, 1)
    }

    private func setDestination(_ name: BusName) throws(MessageEncodingError) {
        guard name.withCString({ dbus_message_set_destination(pointer, $0) }) != 0 else { throw .outOfMemory }
    }

    /// The upper bound of a header's size without its path: at most seven names, each of at most 255 bytes.
    private static let headerSize = 2048

    private func write<Body: MessageBody>(_ body: Body, limit: Int, pathLength: Int = 0) throws(MessageEncodingError) {
        let signature = Body.signature
        // A signature that was combined from others may be too long or too deep.
        guard Signature.isValid(signature.rawValue.utf8) else { throw .inconsistentValue }
        guard Self.headerSize + pathLength <= limit else { throw .tooLarge(limit: limit) }
        var writer = MessageWriter(message: pointer, signature, limit: limit, used: Self.headerSize + pathLength)
        try body.write(to: &writer)
        try writer.finish()
        size = writer.size
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
