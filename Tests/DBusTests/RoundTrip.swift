import CDBus
import Testing

@testable import DBus

/// The size limit of a message in these tests.
let messageLimit = 16 << 20

/// Writes a body, passes it through libdbus's own marshaller and validator, and reads the result.
func roundTrip<Body: MessageBody>(_ body: Body, limit: Int = messageLimit) throws -> Body {
    let message = try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: limit))
    dbus_message_set_serial(message.pointer, 1)
    var bytes: UnsafeMutablePointer<CChar>?
    var count: CInt = 0
    #expect(dbus_message_marshal(message.pointer, &bytes, &count) != 0)
    defer { dbus_free(bytes) }
    var error = DBusError()
    dbus_error_init(&error)
    let copy = dbus_message_demarshal(bytes, count, &error)
    let text = error.message.map { String(cString: $0) }
    dbus_error_free(&error)
    let received = Message(owning: try #require(copy, "\(text ?? "")"))
    return try Message.body(received.pointer, limit: .max)
}

/// Returns the reason why a body cannot be sent, or nil if the body can be sent.
func refusal<Body: MessageBody>(of body: Body, limit: Int = messageLimit) -> MessageEncodingError? {
    do throws(MessageEncodingError) {
        _ = try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: limit))
        return nil
    } catch {
        return error
    }
}

/// A value that writes another type than its signature.
struct Liar<Promise: DBusType>: DBusType {
    static var signature: Signature { Promise.signature }
    var body: @Sendable (inout MessageWriter) throws(MessageEncodingError) -> Void

    init(_ body: @escaping @Sendable (inout MessageWriter) throws(MessageEncodingError) -> Void) {
        self.body = body
    }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        body = { _ in }
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try body(&writer)
    }
}

/// A value whose signature has two complete types.
struct TwoStrings: DBusType {
    static var signature: Signature { "ss" }
    init() {}
    init(from reader: inout MessageReader) throws(MessageDecodingError) {}
    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.append("a")
        try writer.append("b")
    }
}
