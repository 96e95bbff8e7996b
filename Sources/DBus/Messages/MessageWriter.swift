internal import CDBus

/// Why a value cannot be put into a message.
public enum MessageEncodingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A string holds a NUL, which D-Bus's strings end at.
    case nulInString
    /// The message is larger than the limit, in bytes.
    case tooLarge(limit: Int)
    /// Containers are nested deeper than ``MessageWriter/maximumDepth``.
    case tooDeep
    /// A value is of another type than the signature promises, there are more or fewer values than that, or a signature
    /// that was put together at run time breaks the rules (a structure without a field, more than 255 bytes).
    case inconsistentValue
    /// The descriptor cannot be duplicated, the message holds more than 16, or this connection cannot pass descriptors.
    case descriptorNotPassed
    /// The path or interface is one that libdbus keeps for itself.
    case reservedName(String)
    /// There is no memory left.
    case outOfMemory

    /// The reason for a person.
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

/// Puts values into a message's body, one after the other.
///
/// What would make libdbus end the process or the bus drop the connection is an error here, before anything is sent:
/// types are compared with the promised signature, and size and depth are counted while writing. After an error nothing more
/// is written: the message is not sent, even where the error was caught on the way.
public struct MessageWriter: ~Copyable {
    /// How deep containers may be nested, variants included: D-Bus allows 64, of which dbus-broker counts one for the
    /// innermost value and closes the connection that sends more.
    public static let maximumDepth = 63
    /// How many descriptors one message carries at most: a bus closes the connection that sends more.
    public static let maximumDescriptors = 16

    private var iterator: DBusMessageIter
    private var expected: TypeCursor
    private let limit: Int
    private var budget: Int
    private var descriptors: Int
    private let depth: Int
    /// What went wrong first. It stays: libdbus has half a value then, and whoever went on after it, without throwing it,
    /// would send a message that the bus hangs up at.
    private var failure: MessageEncodingError?

    /// - Parameters:
    ///   - signature: what will be written.
    ///   - limit: the message's largest size in bytes; alignment is counted as the worst case.
    ///   - used: how much of it the message's header takes.
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

    /// How much of the limit is used.
    var size: Int { limit - budget }

    /// Checks that everything that was promised has been written.
    func finish() throws(MessageEncodingError) {
        if let failure { throw failure }
        guard expected.isComplete else { throw .inconsistentValue }
    }

    /// Begins to append: nothing follows a failure.
    private func proceed() throws(MessageEncodingError) {
        if let failure { throw failure }
    }

    /// Notes a failure, for everything that comes after it.
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
        try take(code, size: text.utf8.count + 8)
        guard !text.utf8.contains(0) else { throw failed(.nulInString) }
        let isAppended = text.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = pointer
            return dbus_message_iter_append_basic(&iterator, code, &pointer) != 0
        }
        guard isAppended else { throw failed(.outOfMemory) }
    }

    /// Appends `y`.
    public mutating func append(_ value: UInt8) throws(MessageEncodingError) { try appendFixed(value, TypeCode.byte) }
    /// Appends `b`.
    public mutating func append(_ value: Bool) throws(MessageEncodingError) {
        try appendFixed(dbus_bool_t(value ? 1 : 0), TypeCode.boolean)
    }
    /// Appends `n`.
    public mutating func append(_ value: Int16) throws(MessageEncodingError) { try appendFixed(value, TypeCode.int16) }
    /// Appends `q`.
    public mutating func append(_ value: UInt16) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.uint16)
    }
    /// Appends `i`.
    public mutating func append(_ value: Int32) throws(MessageEncodingError) { try appendFixed(value, TypeCode.int32) }
    /// Appends `u`.
    public mutating func append(_ value: UInt32) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.uint32)
    }
    /// Appends `x`.
    public mutating func append(_ value: Int64) throws(MessageEncodingError) { try appendFixed(value, TypeCode.int64) }
    /// Appends `t`.
    public mutating func append(_ value: UInt64) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.uint64)
    }
    /// Appends `d`.
    public mutating func append(_ value: Double) throws(MessageEncodingError) {
        try appendFixed(value, TypeCode.double)
    }
    /// Appends `s`.
    public mutating func append(_ value: String) throws(MessageEncodingError) { try appendText(value, TypeCode.string) }
    /// Appends `o`.
    public mutating func append(_ value: ObjectPath) throws(MessageEncodingError) {
        try appendText(value.rawValue, TypeCode.objectPath)
    }
    /// Appends `g`.
    ///
    /// - Throws: ``MessageEncodingError/inconsistentValue`` for a signature that was put together from others and breaks the rules,
    ///   such as that of a structure without a field.
    public mutating func append(_ value: Signature) throws(MessageEncodingError) {
        try proceed()
        guard Signature.isValid(value.rawValue.utf8) else { throw failed(.inconsistentValue) }
        try appendText(value.rawValue, TypeCode.signature)
    }
    /// Appends `h`; the message gets a duplicate of the descriptor.
    public mutating func append(_ value: UnixFD) throws(MessageEncodingError) {
        try take(TypeCode.unixFD, size: 8)
        descriptors -= 1
        var descriptor = value.rawValue
        guard descriptors >= 0, dbus_message_iter_append_basic(&iterator, TypeCode.unixFD, &descriptor) != 0 else {
            throw failed(.descriptorNotPassed)
        }
    }

    /// Appends an array of numbers in one piece.
    ///
    /// - Parameters:
    ///   - element: the code of their type.
    ///   - bytes: the numbers as they are in memory.
    mutating func appendNumbers(
        _ element: FixedType,
        _ bytes: UnsafeRawBufferPointer
    ) throws(MessageEncodingError) {
        try appendArray(of: element.signature) { (writer) throws(MessageEncodingError) in
            // Before the first of them there may be room left for its alignment.
            try writer.spend(bytes.count + element.size)
            // More than D-Bus allows in an array ends the process, whatever the limit.
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

    /// Appends an array, whose elements `body` writes.
    public mutating func appendArray(
        of element: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try appendArray(of: element.rawValue, body)
    }

    /// Appends a dictionary, whose entries `body` writes, each with ``appendEntry(_:)``.
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

    /// Appends a dictionary's entry, whose key and value `body` writes.
    public mutating func appendEntry(_ body: (inout MessageWriter) throws(MessageEncodingError) -> Void)
        throws(MessageEncodingError)
    {
        try proceed()
        guard let fields = expected.takeBracketed(UInt8(ascii: "{")) else { throw failed(.inconsistentValue) }
        try appendContainer(TypeCode.dictionaryEntry, fields, contents: nil, body)
    }

    /// Appends a structure, whose fields `body` writes.
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

    /// Appends a variant, whose one value, of type `content`, `body` writes.
    public mutating func appendVariant(
        of content: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        // A signature that was put together from others may have become too long or too deep.
        guard expected.take(TypeCode.variant), Signature.isValid(content.rawValue.utf8), content.isSingle else {
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
        guard dbus_message_iter_open_container(&iterator, code, contents, &inner.iterator) != 0 else {
            throw failed(.outOfMemory)
        }
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
