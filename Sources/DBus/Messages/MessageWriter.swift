internal import CDBus
internal import Glibc

/// The reason why a value cannot be written into a message.
public enum MessageEncodingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A string holds a NUL, which would end the string in D-Bus.
    case nulInString
    /// The message is larger than the limit in bytes.
    case tooLarge(limit: Int)
    /// Containers are nested deeper than ``MessageWriter/maximumDepth``.
    case tooDeep
    /// The values do not fit the signature.
    ///
    /// A value has another type, there are too many or too few values, or a signature that was combined at run time
    /// breaks a rule (a structure without fields, more than 255 bytes).
    case inconsistentValue
    /// The descriptor cannot be duplicated, the message holds more than 16 descriptors, or this connection cannot pass
    /// descriptors.
    case descriptorNotPassed
    /// libdbus reserves the path or the interface.
    case reservedName(String)
    /// There is no memory left.
    case outOfMemory

    /// The reason in words.
    public var description: String {
        switch self {
        case .nulInString: "a string holds a NUL character"
        case .tooLarge(let limit): "the message is larger than \(limit) bytes"
        case .tooDeep: "values are nested more than \(MessageWriter.maximumDepth) deep"
        case .inconsistentValue: "a value is of another type than its signature says"
        case .descriptorNotPassed: "a file descriptor cannot be passed"
        case .reservedName(let name): "\(name) is reserved"
        case .outOfMemory: "out of memory"
        }
    }
}

/// Writes values into a message's body in order.
///
/// libdbus ends the process for some mistakes, and the bus closes the connection for others. A writer throws an error
/// instead, before anything is sent: it compares types with the promised signature, and counts size and depth. After an
/// error, nothing more is written and the message is not sent, even if the error was caught.
public struct MessageWriter: ~Copyable {
    /// The largest depth of nested containers, including variants.
    ///
    /// D-Bus allows a depth of 64. dbus-broker also counts the innermost value, and closes a connection that sends
    /// more.
    public static let maximumDepth = 63
    /// The largest number of descriptors in a message. A bus closes a connection that sends more.
    public static let maximumDescriptors = 16

    private var iterator: DBusMessageIter
    private var expected: TypeCursor
    private let limit: Int
    private var budget: Int
    private var descriptors: Int
    private let depth: Int
    /// The first error. Every later call throws this error again: libdbus's message is incomplete after an error, and
    /// the bus would close the connection on receiving the message.
    private var failure: MessageEncodingError?

    /// Creates a writer for an empty body.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - signature: The types of the values that will be written.
    ///   - limit: The largest size of the message in bytes. Padding counts as in the worst case.
    ///   - used: The bytes of the message's header, which count towards the limit.
    init(message: OpaquePointer, _ signature: Signature, limit: Int, used: Int) {
        iterator = DBusMessageIter()
        dbus_message_iter_init_append(message, &iterator)
        expected = TypeCursor(signature)
        self.limit = limit
        budget = limit - used
        descriptors = Self.maximumDescriptors
        depth = 0
        failure = nil
    }

    private init(within writer: borrowing MessageWriter, _ expected: TypeCursor) {
        iterator = DBusMessageIter()
        self.expected = expected
        limit = writer.limit
        budget = writer.budget
        descriptors = writer.descriptors
        depth = writer.depth + 1
        failure = nil
    }

    /// The number of bytes that have been used.
    var size: Int { limit - budget }

    /// Checks that all values of the signature have been written.
    func finish() throws(MessageEncodingError) {
        if let failure { throw failure }
        guard expected.isComplete else { throw .inconsistentValue }
    }

    /// Throws the first error again, if there was one.
    private func proceed() throws(MessageEncodingError) {
        if let failure { throw failure }
    }

    /// Records an error, so that every later call fails.
    private mutating func failed(_ error: MessageEncodingError) -> MessageEncodingError {
        failure = error
        return error
    }

    private mutating func take(_ code: CInt, size: Int) throws(MessageEncodingError) {
        try proceed()
        guard expected.take(code) else { throw failed(.inconsistentValue) }
        try spend(size)
    }

    private mutating func spend(_ bytes: Int) throws(MessageEncodingError) {
        guard bytes <= budget else { throw failed(.tooLarge(limit: limit)) }
        budget -= bytes
    }

    private mutating func appendFixed<T: BitwiseCopyable>(_ value: T, _ code: CInt) throws(MessageEncodingError) {
        try take(code, size: 2 * MemoryLayout<T>.size)
        var value = value
        guard dbus_message_iter_append_basic(&iterator, code, &value) != 0 else { throw failed(.outOfMemory) }
    }

    private mutating func appendText(_ text: String, _ code: CInt) throws(MessageEncodingError) {
        let count = text.utf8.count
        try take(code, size: count + 8)
        let error: MessageEncodingError? = text.withCString { pointer in
            guard strlen(pointer) == count else { return .nulInString }
            var pointer: UnsafePointer<CChar>? = pointer
            return dbus_message_iter_append_basic(&iterator, code, &pointer) != 0 ? nil : .outOfMemory
        }
        if let error { throw failed(error) }
    }

    /// Appends a value of type `y`.
    public mutating func append(_ value: UInt8) throws(MessageEncodingError) { try appendFixed(value, TypeCode.byte) }
    /// Appends a value of type `b`.
    public mutating func append(_ value: Bool) throws(MessageEncodingError) {
        try appendFixed(dbus_bool_t(value ? 1 : 0), TypeCode.boolean)
    }
    /// Appends a value of type `n`.
    public mutating func append(_ value: Int16) throws(MessageEncodingError) { try appendFixed(value, TypeCode.int16) }
    /// Appends a value of type `q`.
    public mutating func append(_ value: UInt16) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.uint16)
    }
    /// Appends a value of type `i`.
    public mutating func append(_ value: Int32) throws(MessageEncodingError) { try appendFixed(value, TypeCode.int32) }
    /// Appends a value of type `u`.
    public mutating func append(_ value: UInt32) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.uint32)
    }
    /// Appends a value of type `x`.
    public mutating func append(_ value: Int64) throws(MessageEncodingError) { try appendFixed(value, TypeCode.int64) }
    /// Appends a value of type `t`.
    public mutating func append(_ value: UInt64) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.uint64)
    }
    /// Appends a value of type `d`.
    public mutating func append(_ value: Double) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.double)
    }
    /// Appends a value of type `s`.
    public mutating func append(_ value: String) throws(MessageEncodingError) { try appendText(value, TypeCode.string) }
    /// Appends a value of type `o`.
    public mutating func append(_ value: ObjectPath) throws(MessageEncodingError) {
        try appendText(value.rawValue, TypeCode.objectPath)
    }
    /// Appends a value of type `g`.
    ///
    /// - Throws: ``MessageEncodingError/inconsistentValue`` if the signature was combined from others and breaks a
    ///   rule, such as a structure without fields.
    public mutating func append(_ value: Signature) throws(MessageEncodingError) {
        try proceed()
        guard Signature.isValid(value.rawValue.utf8) else { throw failed(.inconsistentValue) }
        try appendText(value.rawValue, TypeCode.signature)
    }
    /// Appends a value of type `h`. The message gets a duplicate of the descriptor.
    public mutating func append(_ value: UnixFD) throws(MessageEncodingError) {
        try take(TypeCode.unixFD, size: 8)
        descriptors -= 1
        var descriptor = value.rawValue
        guard descriptors >= 0, dbus_message_iter_append_basic(&iterator, TypeCode.unixFD, &descriptor) != 0 else {
            throw failed(.descriptorNotPassed)
        }
    }

    /// Appends an array of numbers at once.
    ///
    /// - Parameters:
    ///   - element: The type of the numbers.
    ///   - bytes: The numbers in their memory format.
    mutating func appendNumbers(
        _ element: FixedType,
        _ bytes: UnsafeRawBufferPointer
    ) throws(MessageEncodingError) {
        try appendArray(of: element.signature) { (writer) throws(MessageEncodingError) in
            // The array may have padding before its first element.
            try writer.spend(bytes.count + element.size)
            // libdbus ends the process for an array above the maximum of D-Bus, so this check does not depend on the
            // limit.
            guard bytes.count <= ConnectionLimits.largestMessage else {
                throw writer.failed(.tooLarge(limit: ConnectionLimits.largestMessage))
            }
            guard var pointer = bytes.baseAddress, !bytes.isEmpty else { return }
            let count = CInt(bytes.count / element.size)
            guard dbus_message_iter_append_fixed_array(&writer.iterator, element.code, &pointer, count) != 0 else {
                throw writer.failed(.outOfMemory)
            }
        }
    }

    /// Appends an array. `body` writes the elements.
    public mutating func appendArray(
        of element: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try appendArray(of: element.rawValue, body)
    }

    /// Appends a dictionary. `body` writes the entries, each with ``appendEntry(_:)``.
    public mutating func appendDictionary(
        key: Signature,
        value: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try appendArray(of: "{\(key.rawValue)\(value.rawValue)}", body)
    }

    private mutating func appendArray(
        of element: String,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        guard let elements = expected.takeArray(of: element[...]) else { throw failed(.inconsistentValue) }
        try appendContainer(TypeCode.array, elements, contents: element, body)
    }

    /// Appends a dictionary's entry. `body` writes the key and the value.
    public mutating func appendEntry(_ body: (inout MessageWriter) throws(MessageEncodingError) -> Void)
        throws(MessageEncodingError)
    {
        try proceed()
        guard let fields = expected.takeBracketed(UInt8(ascii: "{")) else { throw failed(.inconsistentValue) }
        try appendContainer(TypeCode.dictionaryEntry, fields, contents: nil, body)
    }

    /// Appends a structure. `body` writes the fields.
    public mutating func appendStructure(
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        guard let fields = expected.takeBracketed(UInt8(ascii: "(")) else { throw failed(.inconsistentValue) }
        try appendContainer(TypeCode.structure, fields, contents: nil, body)
    }

    /// Appends a variant that holds `value`.
    public mutating func appendVariant(_ value: Value) throws(MessageEncodingError) {
        try appendVariant(of: value.signature) { (writer) throws(MessageEncodingError) in
            try writer.append(contents: value)
        }
    }

    /// Appends a variant that holds one value of type `content`. `body` writes that value.
    public mutating func appendVariant(
        of content: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        // A signature that was combined from others may be too long or too deep.
        guard expected.take(TypeCode.variant), content.isSingle, Signature.isValid(content.rawValue.utf8) else {
            throw failed(.inconsistentValue)
        }
        try appendContainer(TypeCode.variant, TypeCursor(content), contents: content.rawValue, body)
    }

    private mutating func appendContainer(
        _ code: CInt,
        _ expected: TypeCursor,
        contents: String?,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        guard depth < Self.maximumDepth else { throw failed(.tooDeep) }
        try spend(8 + (contents?.utf8.count ?? 0))
        var inner = MessageWriter(within: self, expected)
        // A `String` that is passed as a C string directly is copied into an array, for each call.
        let isOpen =
            switch contents {
            case let contents?:
                contents.withCString { dbus_message_iter_open_container(&iterator, code, $0, &inner.iterator) }
            case nil: dbus_message_iter_open_container(&iterator, code, nil, &inner.iterator)
            }
        guard isOpen != 0 else { throw failed(.outOfMemory) }
        do {
            try body(&inner)
            try inner.finish()
        } catch {
            dbus_message_iter_abandon_container(&iterator, &inner.iterator)
            throw failed(error)
        }
        budget = inner.budget
        descriptors = inner.descriptors
        guard dbus_message_iter_close_container(&iterator, &inner.iterator) != 0 else { throw failed(.outOfMemory) }
    }

    private mutating func append(contents value: Value) throws(MessageEncodingError) {
        switch value {
        case .byte(let value): try append(value)
        case .boolean(let value): try append(value)
        case .int16(let value): try append(value)
        case .uint16(let value): try append(value)
        case .int32(let value): try append(value)
        case .uint32(let value): try append(value)
        case .int64(let value): try append(value)
        case .uint64(let value): try append(value)
        case .double(let value): try append(value)
        case .string(let value): try append(value)
        case .objectPath(let value): try append(value)
        case .signature(let value): try append(value)
        case .unixFD(let value): try append(value)
        case .array(let elements, let element):
            try appendArray(of: element) { (writer) throws(MessageEncodingError) in
                for value in elements { try writer.append(contents: value) }
            }
        case .dictionary(let entries, let keyType, let valueType):
            try appendDictionary(key: keyType, value: valueType) { (writer) throws(MessageEncodingError) in
                for (key, value) in entries {
                    try writer.appendEntry { (writer) throws(MessageEncodingError) in
                        try writer.append(contents: key)
                        try writer.append(contents: value)
                    }
                }
            }
        case .structure(let fields):
            try appendStructure { (writer) throws(MessageEncodingError) in
                for field in fields { try writer.append(contents: field) }
            }
        case .variant(let value): try appendVariant(value)
        }
    }
}
