internal import CDBus

/// One message of libdbus, which is released with its last reference: a message that has arrived, or the copy of a written one.
///
/// The class is unchecked `Sendable` because libdbus counts references atomically, and only the creator of a message
/// writes to it, before the message is sent.
final class Message: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over a reference to a libdbus message.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        dbus_message_unref(pointer)
    }

    /// Writes a value of one type into a message and reads it as another type, like the two sides of a call.
    static func converted<Content: DBusType>(_ value: Value) throws -> Content {
        let address = ReplyAddress(sender: nil, serial: 1, isExpected: true)
        let message = try Message(.reply(to: address, value, limit: .max))
        return try withExtendedLifetime(message) {
            var reader = MessageReader(message: message.pointer, limit: .max)
            return try VariantContent<Content>(from: &reader).content
        }
    }

    /// Makes a message of libdbus, which checks the message.
    convenience init(_ written: WrittenMessage) throws(MessageEncodingError) {
        guard !written.descriptors.isEmpty else {
            self.init(owning: try Self.checked(written.bytes))
            return
        }
        // libdbus takes no descriptors with bytes, so the values are appended with the descriptors one by one.
        var bare = MessageHeader(fields: written.bytes[..<written.fieldsEnd])
        bare.finish(.empty)
        let message = Message(owning: try Self.checked(written.bytes))
        self.init(owning: try Self.checked(bare.bytes.array))
        var source = DBusMessageIter()
        var target = DBusMessageIter()
        dbus_message_iter_init(message.pointer, &source)
        dbus_message_iter_init_append(pointer, &target)
        var descriptors = written.descriptors[...]
        guard Self.copy(&source, to: &target, &descriptors) else { throw .descriptorNotPassed }
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
                let types =
                    isArray ? dbus_message_iter_get_signature(&source) : dbus_message_iter_get_signature(&contents)
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
