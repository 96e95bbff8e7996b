/// The whole body of a message: any number of values of types that are known when the program is compiled.
///
/// A type of one value is a body by itself (``DBusType``), several values are ``Arguments``, none is ``Empty``.
public protocol MessageBody: Sendable {
    /// The types of the values. A message with another signature is refused before anything is read.
    static var signature: Signature { get }
    /// Takes the values out of a message whose signature is ``signature``.
    init(from reader: inout MessageReader) throws(MessageDecodingError)
    /// Puts the values into a message.
    func write(to writer: inout MessageWriter) throws(MessageEncodingError)
}

/// A type of one D-Bus value: its signature is one complete type.
public protocol DBusType: MessageBody {}

/// A type that can be a dictionary's key.
public protocol DBusBasicType: DBusType, Hashable {}

/// A body without values.
public struct Empty: MessageBody, Hashable {
    /// No type.
    public static var signature: Signature { .empty }

    /// Makes the one value.
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

    /// Makes a body.
    public init(_ values: repeat each Element) {
        self.values = (repeat each values)
    }

    /// The values' types one after the other.
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
