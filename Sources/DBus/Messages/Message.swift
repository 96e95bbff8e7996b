internal import CDBus

/// One message of libdbus, released with its last reference.
///
/// Unchecked because libdbus counts references atomically and a message is written by its maker alone, before it is sent.
final class Message: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over a reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        dbus_message_unref(pointer)
    }

    /// The largest body that is written when nobody says otherwise, in bytes. D-Bus allows 128 MiB in a message and
    /// 64 MiB in an array; a bus drops a connection that sends more.
    static let defaultLimit = 16 << 20

    private static let reservedPath = "/org/freedesktop/DBus/Local"
    private static let reservedInterface = "org.freedesktop.DBus.Local"

    static func methodCall<Body: MessageBody>(
        _ interface: InterfaceName,
        _ member: MemberName,
        on object: RemoteObject,
        _ body: Body
    ) throws(EncodingError) -> Message {
        try check(object.path, interface)
        let pointer = dbus_message_new_method_call(
            object.destination?.rawValue,
            object.path.rawValue,
            interface.rawValue,
            member.rawValue
        )
        if let pointer, !object.startsService { dbus_message_set_auto_start(pointer, 0) }
        return try filled(pointer) { (writer) throws(EncodingError) in try body.write(to: &writer) }
    }

    static func signal<Body: MessageBody>(
        _ interface: InterfaceName,
        _ member: MemberName,
        from path: ObjectPath,
        _ body: Body
    ) throws(EncodingError) -> Message {
        try check(path, interface)
        let pointer = dbus_message_new_signal(path.rawValue, interface.rawValue, member.rawValue)
        return try filled(pointer) { (writer) throws(EncodingError) in try body.write(to: &writer) }
    }

    static func reply(
        to call: ReplyAddress,
        _ body: (inout MessageWriter) throws(EncodingError) -> Void
    ) throws(EncodingError) -> Message {
        let pointer = dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_RETURN)
        return try filled(pointer, replyingTo: call, body)
    }

    static func error(
        to call: ReplyAddress,
        _ name: ErrorName,
        _ text: String
    ) throws(EncodingError) -> Message {
        let pointer = dbus_message_new(DBUS_MESSAGE_TYPE_ERROR)
        guard let pointer, dbus_message_set_error_name(pointer, name.rawValue) != 0 else { throw .outOfMemory }
        return try filled(pointer, replyingTo: call) { (writer) throws(EncodingError) in
            // An error without its text still tells more than no answer, so a NUL in the text does not stop it.
            try writer.append(text.utf8.contains(0) ? String(text.split(separator: "\0").joined(separator: " ")) : text)
        }
    }

    private static func check(_ path: ObjectPath, _ interface: InterfaceName) throws(EncodingError) {
        if path.rawValue == reservedPath { throw .reservedName(reservedPath) }
        if interface.rawValue == reservedInterface { throw .reservedName(reservedInterface) }
    }

    private static func filled(
        _ pointer: OpaquePointer?,
        replyingTo call: ReplyAddress? = nil,
        _ body: (inout MessageWriter) throws(EncodingError) -> Void
    ) throws(EncodingError) -> Message {
        guard let pointer else { throw .outOfMemory }
        let message = Message(owning: pointer)
        if let call {
            let isAddressed =
                dbus_message_set_reply_serial(pointer, call.serial) != 0
                && (call.sender == nil || dbus_message_set_destination(pointer, call.sender?.rawValue) != 0)
            guard isAddressed else { throw .outOfMemory }
            dbus_message_set_no_reply(pointer, 1)
        }
        var writer = MessageWriter(message: pointer, limit: defaultLimit)
        try body(&writer)
        return message
    }
}

/// Where the answer to a call goes.
struct ReplyAddress: Sendable {
    let sender: BusName?
    let serial: UInt32
    let isExpected: Bool
}

/// An object of another program: whose, and which one.
public struct RemoteObject: Sendable, Hashable {
    /// The connection that exports the object; nil is the other end of a connection without a bus.
    public let destination: BusName?
    /// The object's path.
    public let path: ObjectPath

    /// Whether the bus may start a program to own the destination. The corresponding C function is
    /// `dbus_message_set_auto_start`.
    public let startsService: Bool

    /// Names an object.
    public init(_ destination: BusName?, _ path: ObjectPath, startsService: Bool = true) {
        self.destination = destination
        self.path = path
        self.startsService = startsService
    }
}
