internal import CDBus
internal import Glibc

/// The reason why a message's body cannot be read.
public enum MessageDecodingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The body, or a value in the body, has another type than the requested one.
    case wrongType(expected: Signature, found: String)
    /// The values hold more bytes than the limit.
    case tooLarge(limit: Int)
    /// Containers are nested deeper than ``MessageWriter/maximumDepth``.
    case tooDeep
    /// A value has the right type but breaks a rule of the type.
    case invalidValue(String)

    /// The reason in words.
    public var description: String {
        switch self {
        case .wrongType(let expected, let found):
            "expected \(Self.name(expected.rawValue)), found \(Self.name(found))"
        case .tooLarge(let limit): "the message holds more than \(limit) bytes"
        case .tooDeep: "values are nested more than \(MessageWriter.maximumDepth) deep"
        case .invalidValue(let reason): reason
        }
    }

    private static func name(_ signature: String) -> String {
        signature.isEmpty ? "nothing" : "'\(signature)'"
    }
}

/// Reads the values of a message's body in order.
///
/// libdbus has checked the form of the message on arrival: strings are UTF-8, names are valid, and lengths are correct.
public struct MessageReader: ~Copyable {
    private var iterator: DBusMessageIter
    private let limit: Int
    private var budget: Int
    /// The descriptors that have been read.
    private(set) var descriptors: [UnixFD] = []
    private let depth: Int

    /// The number of bytes that have been read.
    var bytes: Int { limit - budget }

    /// Creates a reader at the first value of a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - limit: The largest number of bytes to read.
    init(message: OpaquePointer, limit: Int) {
        iterator = DBusMessageIter()
        dbus_message_iter_init(message, &iterator)
        self.limit = limit
        budget = limit
        depth = 0
    }

    private init(within reader: borrowing MessageReader) {
        iterator = DBusMessageIter()
        limit = reader.limit
        budget = reader.budget
        descriptors = reader.descriptors
        depth = reader.depth + 1
    }

    private var code: CInt {
        mutating get { dbus_message_iter_get_arg_type(&iterator) }
    }

    /// Whether a value is left in this container or in the body.
    public var hasMore: Bool {
        mutating get { code != TypeCode.invalid }
    }

    mutating func skip() {
        dbus_message_iter_next(&iterator)
    }

    private mutating func expect(_ expected: CInt) throws(MessageDecodingError) {
        let found = code
        guard found == expected else {
            throw .wrongType(expected: Self.name(of: expected), found: Self.name(of: found).rawValue)
        }
    }

    private static func name(of code: CInt) -> Signature {
        switch code {
        case TypeCode.invalid: .empty
        case TypeCode.structure: Signature(trusted: "(")
        case TypeCode.dictionaryEntry: Signature(trusted: "{")
        default: Signature(trusted: String(UnicodeScalar(UInt8(truncatingIfNeeded: code))))
        }
    }

    private mutating func spend(_ bytes: Int) throws(MessageDecodingError) {
        budget -= bytes
        guard budget >= 0 else { throw .tooLarge(limit: limit) }
    }

    private mutating func readFixed<T: BitwiseCopyable>(_ code: CInt, _ zero: T) throws(MessageDecodingError) -> T {
        try expect(code)
        try spend(MemoryLayout<T>.size)
        var value = zero
        dbus_message_iter_get_basic(&iterator, &value)
        dbus_message_iter_next(&iterator)
        return value
    }

    private mutating func readText(_ code: CInt) throws(MessageDecodingError) -> String {
        try expect(code)
        var pointer: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &pointer)
        guard let pointer else { return "" }
        let bytes = UnsafeRawBufferPointer(start: pointer, count: strlen(pointer))
        // The size is checked before the string is created, so a string above the limit is not copied.
        try spend(bytes.count + 1)
        let text = String(decoding: bytes, as: UTF8.self)
        dbus_message_iter_next(&iterator)
        return text
    }

    /// Reads a value of type `y`.
    public mutating func readUInt8() throws(MessageDecodingError) -> UInt8 { try readFixed(TypeCode.byte, 0) }
    /// Reads a value of type `b`.
    public mutating func readBool() throws(MessageDecodingError) -> Bool {
        try readFixed(TypeCode.boolean, dbus_bool_t(0)) != 0
    }
    /// Reads a value of type `n`.
    public mutating func readInt16() throws(MessageDecodingError) -> Int16 { try readFixed(TypeCode.int16, 0) }
    /// Reads a value of type `q`.
    public mutating func readUInt16() throws(MessageDecodingError) -> UInt16 { try readFixed(TypeCode.uint16, 0) }
    /// Reads a value of type `i`.
    public mutating func readInt32() throws(MessageDecodingError) -> Int32 { try readFixed(TypeCode.int32, 0) }
    /// Reads a value of type `u`.
    public mutating func readUInt32() throws(MessageDecodingError) -> UInt32 { try readFixed(TypeCode.uint32, 0) }
    /// Reads a value of type `x`.
    public mutating func readInt64() throws(MessageDecodingError) -> Int64 { try readFixed(TypeCode.int64, 0) }
    /// Reads a value of type `t`.
    public mutating func readUInt64() throws(MessageDecodingError) -> UInt64 { try readFixed(TypeCode.uint64, 0) }
    /// Reads a value of type `d`.
    public mutating func readDouble() throws(MessageDecodingError) -> Double { try readFixed(TypeCode.double, 0) }
    /// Reads a value of type `s`.
    public mutating func readString() throws(MessageDecodingError) -> String { try readText(TypeCode.string) }
    /// Reads a value of type `o`.
    public mutating func readObjectPath() throws(MessageDecodingError) -> ObjectPath {
        ObjectPath(trusted: try readText(TypeCode.objectPath))
    }
    /// Reads a value of type `g`.
    public mutating func readSignature() throws(MessageDecodingError) -> Signature {
        Signature(trusted: try readText(TypeCode.signature))
    }
    /// Reads a value of type `h`. The caller owns the descriptor.
    public mutating func readUnixFD() throws(MessageDecodingError) -> UnixFD { try UnixFD(from: &self) }

    mutating func readDescriptor() throws(MessageDecodingError) -> CInt {
        let descriptor = try readFixed(TypeCode.unixFD, CInt(-1))
        guard descriptor >= 0 else { throw .invalidValue("a file descriptor did not arrive") }
        return descriptor
    }

    /// Notes the owner of a descriptor that has been read.
    mutating func add(_ descriptor: UnixFD) {
        descriptors.append(descriptor)
    }

    /// Reads an array. `body` is called for each element and must read that element.
    public mutating func readArray(
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try readContainer(TypeCode.array) { (reader) throws(MessageDecodingError) in
            while reader.hasMore {
                try reader.spend(1)
                try body(&reader)
            }
        }
    }

    /// Reads an array of numbers at once.
    ///
    /// - Parameters:
    ///   - element: The type of the numbers.
    ///   - body: A closure that gets the numbers in their memory format. The bytes belong to the message.
    mutating func readNumbers<Result>(
        _ element: FixedType,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(MessageDecodingError) -> Result {
        try expect(TypeCode.array)
        let found = dbus_message_iter_get_element_type(&iterator)
        guard found == element.code else {
            throw .wrongType(expected: element.signature, found: Self.name(of: found).rawValue)
        }
        guard depth < MessageWriter.maximumDepth else { throw .tooDeep }
        var elements = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &elements)
        var start: UnsafeRawPointer?
        var count: CInt = 0
        dbus_message_iter_get_fixed_array(&elements, &start, &count)
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(count) * element.size)
        try spend(bytes.count)
        dbus_message_iter_next(&iterator)
        return body(bytes)
    }

    /// Reads a dictionary's entry. `body` must read the key and then the value.
    public mutating func readEntry(
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try readContainer(TypeCode.dictionaryEntry, body)
    }

    /// Reads a structure. `body` must read the fields.
    public mutating func readStructure(
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try readContainer(TypeCode.structure, body)
    }

    /// Reads a variant.
    public mutating func readVariant() throws(MessageDecodingError) -> Value {
        var value: Value?
        try readContainer(TypeCode.variant) { (reader) throws(MessageDecodingError) in value = try reader.readValue() }
        guard let value else { throw .invalidValue("an empty variant") }
        return value
    }

    /// Reads a variant that must hold a value of type `content`. `body` reads that value.
    public mutating func readVariant(
        of content: Signature,
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try readContainer(TypeCode.variant) { (reader) throws(MessageDecodingError) in
            let found = reader.currentSignature()
            guard found == content.rawValue else { throw .wrongType(expected: content, found: found) }
            try body(&reader)
        }
    }

    /// Reads a variant if it holds one value of type `content`. `body` reads that value.
    ///
    /// - Returns: The result of `body`; nil for a value of another type, which is still to be read.
    package mutating func readVariant<Content>(
        ifOf content: Signature,
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Content
    ) throws(MessageDecodingError) -> Content? {
        try expect(TypeCode.variant)
        guard depth < MessageWriter.maximumDepth else { throw .tooDeep }
        var inner = MessageReader(within: self)
        dbus_message_iter_recurse(&iterator, &inner.iterator)
        guard inner.holds(content) else { return nil }
        let result = try body(&inner)
        budget = inner.budget
        descriptors = inner.descriptors
        dbus_message_iter_next(&iterator)
        return result
    }

    private mutating func holds(_ type: Signature) -> Bool {
        let types = type.rawValue.utf8
        guard let first = types.first, CInt(first) == code else { return false }
        return types.count == 1 || currentSignature() == type.rawValue
    }

    private mutating func readContainer(
        _ code: CInt,
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try expect(code)
        guard depth < MessageWriter.maximumDepth else { throw .tooDeep }
        var inner = MessageReader(within: self)
        dbus_message_iter_recurse(&iterator, &inner.iterator)
        try body(&inner)
        budget = inner.budget
        descriptors = inner.descriptors
        dbus_message_iter_next(&iterator)
    }

    /// Reads the next value, which may have any type.
    public mutating func readValue() throws(MessageDecodingError) -> Value {
        // A value takes more memory here than in the message, so that memory counts towards the limit.
        try spend(MemoryLayout<Value>.stride)
        switch code {
        case TypeCode.byte: return .byte(try readUInt8())
        case TypeCode.boolean: return .boolean(try readBool())
        case TypeCode.int16: return .int16(try readInt16())
        case TypeCode.uint16: return .uint16(try readUInt16())
        case TypeCode.int32: return .int32(try readInt32())
        case TypeCode.uint32: return .uint32(try readUInt32())
        case TypeCode.int64: return .int64(try readInt64())
        case TypeCode.uint64: return .uint64(try readUInt64())
        case TypeCode.double: return .double(try readDouble())
        case TypeCode.string: return .string(try readString())
        case TypeCode.objectPath: return .objectPath(try readObjectPath())
        case TypeCode.signature: return .signature(try readSignature())
        case TypeCode.unixFD: return .unixFD(try readUnixFD())
        case TypeCode.variant: return .variant(try readVariant())
        case TypeCode.array: return try readArrayValue()
        case TypeCode.structure:
            var fields: [Value] = []
            try readStructure { (reader) throws(MessageDecodingError) in
                while reader.hasMore { fields.append(try reader.readValue()) }
            }
            return .structure(fields)
        case let found: throw .wrongType(expected: "v", found: Self.name(of: found).rawValue)
        }
    }

    private mutating func readArrayValue() throws(MessageDecodingError) -> Value {
        let signature = currentSignature()
        let element = Signature(trusted: String(signature.dropFirst()))
        guard element.rawValue.utf8.first == UInt8(ascii: "{") else {
            var elements: [Value] = []
            try readArray { (reader) throws(MessageDecodingError) in elements.append(try reader.readValue()) }
            return .array(elements, of: element)
        }
        // The signature is "{", the key's one byte, the value's signature, "}".
        let types = element.rawValue.dropFirst().dropLast()
        let key = Signature(trusted: String(types.prefix(1)))
        let value = Signature(trusted: String(types.dropFirst()))
        var entries: [Value: Value] = [:]
        try readArray { (reader) throws(MessageDecodingError) in
            try reader.readEntry { (reader) throws(MessageDecodingError) in
                let key = try reader.readValue()
                entries[key] = try reader.readValue()
            }
        }
        return .dictionary(entries, key: key, value: value)
    }

    private mutating func currentSignature() -> String {
        guard let pointer = dbus_message_iter_get_signature(&iterator) else { return "" }
        defer { dbus_free(pointer) }
        return String(cString: pointer)
    }
}
