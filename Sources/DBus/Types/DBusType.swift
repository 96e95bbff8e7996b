/// A message's whole body: any number of values whose types are known at compile time.
///
/// One value is a body by itself (``DBusType``). Several values are ``Arguments``, and no values are ``Empty``.
public protocol MessageBody: Sendable {
    /// The types of the values. If a message has another signature, it is rejected before its values are read.
    static var signature: Signature { get }
    /// Reads the values from a message whose signature is ``signature``.
    init(from reader: inout MessageReader) throws(MessageDecodingError)
    /// Writes the values into a message.
    func write(to writer: inout MessageWriter) throws(MessageEncodingError)
}

/// A type of one D-Bus value. Its signature is one complete type.
public protocol DBusType: MessageBody {}

/// A type that can be the key of a dictionary.
public protocol DBusBasicType: DBusType, Hashable {}

/// A body without values.
public struct Empty: MessageBody, Hashable {
    /// The empty signature.
    public static var signature: Signature { .empty }

    /// Creates a body without values.
    public init() {}

    /// Reads nothing.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {}

    /// Writes nothing.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {}
}

/// A body of several values, in order.
public struct Arguments<each Element: DBusType>: MessageBody {
    /// The values.
    public let values: (repeat each Element)

    /// Creates a body from its values.
    public init(_ values: repeat each Element) {
        self.values = (repeat each values)
    }

    /// The values' types, in order.
    public static var signature: Signature {
        var signature = Signature.empty
        repeat signature = signature + (each Element).signature
        return signature
    }

    /// Reads the values in order.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        values = (repeat try (each Element)(from: &reader))
    }

    /// Writes the values in order.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        repeat try (each values).write(to: &writer)
    }
}
