import CDBus
import Testing

@testable import DBus

/// The size limit of a message in these tests.
let messageLimit = 16 << 20

/// Writes a call with a body.
func written(_ body: some MessageBody, limit: Int = messageLimit) throws(MessageEncodingError) -> WrittenMessage {
    try .methodCall("a.b", "C", on: RemoteObject(nil, "/"), body, limit: limit)
}

/// Writes a body, passes it through libdbus's own validator and marshaller, and reads the result.
func roundTrip<Body: MessageBody>(_ body: Body, limit: Int = messageLimit) throws -> Body {
    let bytes = try #require(try libraryCopy(of: try written(body, limit: limit).bytes))
    return try Message(bytes).contents(limit: .max)
}

/// Returns the bytes that libdbus makes of a message; nil if libdbus refuses the message, or if bytes follow the message.
func libraryCopy(of bytes: [UInt8]) throws -> [UInt8]? {
    let message = bytes.withUnsafeBytes {
        dbus_message_demarshal($0.baseAddress?.assumingMemoryBound(to: CChar.self), CInt($0.count), nil)
    }
    guard let message else { return nil }
    defer { dbus_message_unref(message) }
    var copy: UnsafeMutablePointer<CChar>?
    var count: CInt = 0
    try #require(dbus_message_marshal(message, &copy, &count) != 0)
    defer { dbus_free(copy) }
    return count == bytes.count ? Array(UnsafeRawBufferPointer(start: copy, count: Int(count))) : nil
}

/// Returns the reason why a body cannot be sent, or nil if the body can be sent.
func refusal<Body: MessageBody>(of body: Body, limit: Int = messageLimit) -> MessageEncodingError? {
    do throws(MessageEncodingError) {
        _ = try written(body, limit: limit)
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
