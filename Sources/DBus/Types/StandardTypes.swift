// Swift's own types as D-Bus types, according to the table of types in the D-Bus specification.

extension UInt8: DBusBasicType {
    /// The signature `y`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "y") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readUInt8() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension Bool: DBusBasicType {
    /// The signature `b`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "b") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readBool() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension Int16: DBusBasicType {
    /// The signature `n`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "n") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readInt16() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension UInt16: DBusBasicType {
    /// The signature `q`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "q") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readUInt16() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension Int32: DBusBasicType {
    /// The signature `i`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "i") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readInt32() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension UInt32: DBusBasicType {
    /// The signature `u`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "u") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readUInt32() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension Int64: DBusBasicType {
    /// The signature `x`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "x") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readInt64() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension UInt64: DBusBasicType {
    /// The signature `t`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "t") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readUInt64() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension Double: DBusBasicType {
    /// The signature `d`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "d") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readDouble() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension String: DBusBasicType {
    /// The signature `s`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "s") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readString() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension ObjectPath: DBusBasicType {
    /// The signature `o`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "o") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readObjectPath() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension Signature: DBusBasicType {
    /// The signature `g`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "g") }
    /// Reads the next value of a body.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readSignature() }
    /// Appends the value to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}

extension Value: DBusType {
    /// The signature `v`.
    public static var signature: DBus.Signature { DBus.Signature(trusted: "v") }
    /// Reads a variant.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) { self = try reader.readVariant() }
    /// Appends a variant that holds the value.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.appendVariant(self) }
}

extension Array: MessageBody, DBusType where Element: DBusType {
    /// The signature `a`, followed by the element's signature.
    public static var signature: Signature { Signature(trusted: "a" + Element.signature.rawValue) }

    /// Reads the elements in order.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        if let type = FixedType(Element.self) {
            self = try reader.readNumbers(type) { bytes in
                Array(unsafeUninitializedCapacity: bytes.count / type.size) { elements, count in
                    UnsafeMutableRawBufferPointer(elements).copyMemory(from: bytes)
                    count = bytes.count / type.size
                }
            }
            return
        }
        self = []
        try reader.readArray { (reader) throws(MessageDecodingError) in append(try Element(from: &reader)) }
    }

    /// Appends the elements in order.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        if let type = FixedType(Element.self) {
            return try withUnsafeBufferPointer { (elements) throws(MessageEncodingError) in
                try writer.appendNumbers(type, UnsafeRawBufferPointer(elements))
            }
        }
        try writer.appendArray(of: Element.signature) { (writer) throws(MessageEncodingError) in
            for element in self { try element.write(to: &writer) }
        }
    }
}

extension Dictionary: MessageBody, DBusType where Key: DBusBasicType, Value: DBusType {
    /// The signature `a{…}`, with the signatures of the key and the value in the braces.
    public static var signature: Signature {
        Signature(trusted: "a{\(Key.signature.rawValue)\(Value.signature.rawValue)}")
    }

    /// Reads the entries. Two equal keys are treated as an error, as the D-Bus specification permits ("Marshaling (Wire
    /// Format)").
    ///
    /// NaN as a key is an error too, because it does not equal itself.
    ///
    /// Two strings are equal keys if Swift considers them equal, even if their bytes differ, as with `é` written as one
    /// scalar or as two.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        self = [:]
        try reader.readArray { (reader) throws(MessageDecodingError) in
            try reader.readEntry { (reader) throws(MessageDecodingError) in
                let key = try Key(from: &reader)
                guard key == key else { throw MessageReader.keyIsNotANumber }
                guard updateValue(try Value(from: &reader), forKey: key) == nil else { throw MessageReader.repeatedKey }
            }
        }
    }

    /// Appends the entries in no particular order.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendDictionary(key: Key.signature, value: Value.signature) {
            (writer) throws(MessageEncodingError) in
            for (key, value) in self {
                try writer.appendEntry { (writer) throws(MessageEncodingError) in
                    try key.write(to: &writer)
                    try value.write(to: &writer)
                }
            }
        }
    }
}

extension UnixFD: DBusType {
    /// The signature `h`.
    public static var signature: Signature { Signature(trusted: "h") }
    /// Appends a duplicate of the descriptor to a body.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) { try writer.append(self) }
}
