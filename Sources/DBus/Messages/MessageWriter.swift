internal import CLinux
internal import Glibc

/// Why a value cannot be written into a message.
public enum MessageEncodingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A string contains a NUL, which would end it in D-Bus.
    case nulInString
    /// The message is larger than the limit in bytes.
    case tooLarge(limit: Int)
    /// Containers are nested deeper than ``MessageWriter/maximumDepth``.
    case tooDeep
    /// The values do not match the signature.
    ///
    /// Either a value has another type, or there are too many or too few values, or a signature that was put together
    /// at run time breaks a rule (a structure without fields, more than 255 bytes).
    case inconsistentValue
    /// Either the descriptor cannot be duplicated, or the message holds more than 16 descriptors, or this connection
    /// cannot pass descriptors, or too many descriptors of this user are on their way.
    case descriptorNotPassed
    /// The path or the interface is reserved by libdbus.
    case reservedName(String)

    /// The reason in words.
    public var description: String {
        switch self {
        case .nulInString: "a string contains a NUL character"
        case .tooLarge(let limit): "the message is larger than \(limit) bytes"
        case .tooDeep: "values are nested more than \(MessageWriter.maximumDepth) deep"
        case .inconsistentValue: "a value has a type other than its signature says"
        case .descriptorNotPassed: "a file descriptor cannot be passed"
        case .reservedName(let name): "\(name) is reserved"
        }
    }
}

/// Writes values into a message's body in order.
///
/// Some invalid messages make the bus close the connection. A writer throws an error before such a message is sent: it
/// checks types against the promised signature, and keeps track of size and depth. After an error, it writes nothing
/// more and the message is not sent, even if you catch the error.
public struct MessageWriter: ~Copyable {
    /// Maximum depth of nested containers, including variants.
    ///
    /// D-Bus allows a depth of 64, but dbus-broker also counts the innermost value, and closes a connection that goes
    /// deeper.
    public static let maximumDepth = 63
    /// Maximum number of descriptors in a message. If there are more, a bus closes the connection.
    public static let maximumDescriptors = 16

    /// The message so far. The size of its header, with padding, is a multiple of 8 bytes, so that a value's position
    /// in the body determines its padding.
    private var buffer: ByteBuffer
    /// Duplicates of the descriptors in the body, in order. The body contains their positions in this array.
    private(set) var descriptors: [UnixFD] = []
    /// The promised signature, followed by the signatures of the variants that are being written.
    private var types = ByteBuffer(capacity: 128)
    private var expected: TypeCursor
    private let bodyStart: Int
    private let limit: Int
    private var budget: Int
    private var depth = 0
    /// The first error. Every later call throws it again, because the message is incomplete.
    private var failure: MessageEncodingError?

    /// Creates a writer for an empty body.
    ///
    /// - Parameters:
    ///   - header: The message's header, with its padding.
    ///   - signature: The types of the values that will be written.
    ///   - limit: The maximum size of the message in bytes. The worst case is assumed for padding.
    ///   - used: The size of the header in bytes, which counts towards the limit.
    init(after header: consuming ByteBuffer, _ signature: Signature, limit: Int, used: Int) {
        bodyStart = header.count
        buffer = header
        types.append(utf8: signature.rawValue)
        expected = TypeCursor(0..<types.count)
        self.limit = limit
        budget = limit - used
    }

    /// Number of bytes that have been used.
    var size: Int { limit - budget }

    /// Completes the message, if all values in the signature have been written.
    ///
    /// - Returns: The message as bytes.
    mutating func finish() throws(MessageEncodingError) -> [UInt8] {
        try checkCompleteness()
        MessageHeader.complete(&buffer, afterBodyFrom: bodyStart)
        return buffer.array
    }

    private func checkCompleteness() throws(MessageEncodingError) {
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

    private mutating func take(_ code: UInt8, size: Int) throws(MessageEncodingError) {
        try proceed()
        guard expected.take(code, of: types) else { throw failed(.inconsistentValue) }
        try spend(size)
    }

    private mutating func spend(_ bytes: Int) throws(MessageEncodingError) {
        guard bytes <= budget else { throw failed(.tooLarge(limit: limit)) }
        budget -= bytes
    }

    private mutating func appendFixed<T: BitwiseCopyable>(_ value: T, _ code: UInt8) throws(MessageEncodingError) {
        try take(code, size: 2 * MemoryLayout<T>.size)
        buffer.append(number: value)
    }

    private mutating func appendText(_ text: String, _ code: UInt8) throws(MessageEncodingError) {
        try take(code, size: text.utf8.count + 8)
        guard buffer.append(text: text) else { throw failed(.nulInString) }
    }

    /// Appends a value of type `y`.
    public mutating func append(_ value: UInt8) throws(MessageEncodingError) { try appendFixed(value, TypeCode.byte) }
    /// Appends a value of type `b`.
    public mutating func append(_ value: Bool) throws(MessageEncodingError) {
        try appendFixed(UInt32(value ? 1 : 0), TypeCode.boolean)
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
    /// - Throws: ``MessageEncodingError/inconsistentValue`` if the signature was built from others and breaks a rule,
    ///   for example because a structure has no fields.
    public mutating func append(_ value: Signature) throws(MessageEncodingError) {
        try proceed()
        guard Signature.isValid(value.rawValue.utf8) else { throw failed(.inconsistentValue) }
        try take(TypeCode.signature, size: value.rawValue.utf8.count + 8)
        buffer.append(signature: value)
    }
    /// Appends a value of type `h`. The message gets a duplicate of the descriptor.
    public mutating func append(_ value: UnixFD) throws(MessageEncodingError) {
        try take(TypeCode.unixFD, size: 8)
        guard descriptors.count < Self.maximumDescriptors else { throw failed(.descriptorNotPassed) }
        let duplicate = fcntl(value.rawValue, F_DUPFD_CLOEXEC, 3)
        guard duplicate >= 0 else { throw failed(.descriptorNotPassed) }
        buffer.append(number: UInt32(descriptors.count))
        descriptors.append(UnixFD(owning: duplicate))
    }

    /// Appends a whole array of numbers in one step.
    ///
    /// - Parameters:
    ///   - element: The type of the numbers.
    ///   - numbers: The numbers as they are laid out in memory.
    mutating func appendNumbers(
        _ element: FixedType,
        _ numbers: UnsafeRawBufferPointer
    ) throws(MessageEncodingError) {
        try appendArray(of: element.signature) { (writer) throws(MessageEncodingError) in
            // There may be padding before the first element.
            try writer.spend(numbers.count + element.size)
            writer.buffer.append(contentsOf: numbers)
        }
    }

    /// Appends an array. `body` writes the elements.
    public mutating func appendArray(
        of element: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        guard let elements = expected.takeArray(of: types), holds(element, at: elements) else {
            throw failed(.inconsistentValue)
        }
        try appendArray(elements, body)
    }

    /// Appends a dictionary. `body` writes the entries, each with ``appendEntry(_:)``.
    public mutating func appendDictionary(
        key: Signature,
        value: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        guard let entries = expected.takeArray(of: types), types[entries.lowerBound] == UInt8(ascii: "{"),
            holds(key, at: entries.lowerBound + 1..<entries.lowerBound + 2),
            holds(value, at: entries.lowerBound + 2..<entries.upperBound - 1)
        else { throw failed(.inconsistentValue) }
        try appendArray(entries, body)
    }

    private mutating func appendArray(
        _ elements: Range<Int>,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try spend(8 + elements.count)
        buffer.pad(to: MemoryLayout<UInt32>.size)
        let place = buffer.count
        buffer.append(number: UInt32(0))
        buffer.pad(to: TypeCode.alignment(of: types[elements.lowerBound]))
        let start = buffer.count
        try write(TypeCursor(elements, repeats: true), body)
        // If the array were longer, receivers would consider the message damaged.
        guard buffer.count - start <= ConnectionLimits.largestMessage else {
            throw failed(.tooLarge(limit: ConnectionLimits.largestMessage))
        }
        buffer.set(UInt32(buffer.count - start), at: place)
    }

    /// Whether a range of the expected types is a signature.
    private func holds(_ signature: Signature, at range: Range<Int>) -> Bool {
        guard signature.rawValue.utf8.count == range.count else { return false }
        var position = range.lowerBound
        for byte in signature.rawValue.utf8 {
            if types[position] != byte { return false }
            position += 1
        }
        return true
    }

    /// Appends a dictionary's entry. `body` writes the key and the value.
    public mutating func appendEntry(_ body: (inout MessageWriter) throws(MessageEncodingError) -> Void)
        throws(MessageEncodingError)
    {
        try appendBracketed(UInt8(ascii: "{"), body)
    }

    /// Appends an entry of an `a{sv}` with a known key. `body` writes the value, whose type the key gives.
    public mutating func appendEntry(
        _ key: EntryKey,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try begin(key, key.code, size: 0)
        let outer = types.count
        types.append(utf8: key.type.rawValue)
        // The entry and its variant are two containers.
        depth += 1
        try write(TypeCursor(outer..<types.count), body)
        depth -= 1
        types.truncate(to: outer)
    }

    /// Appends an entry of an `a{sv}` that holds a string.
    public mutating func appendEntry(_ key: EntryKey, _ text: String) throws(MessageEncodingError) {
        try begin(key, TypeCode.string, size: text.utf8.count + 8)
        guard buffer.append(text: text) else { throw failed(.nulInString) }
    }

    /// Appends an entry of an `a{sv}` that holds a number of type `u`.
    public mutating func appendEntry(_ key: EntryKey, _ number: UInt32) throws(MessageEncodingError) {
        try begin(key, TypeCode.uint32, size: 8)
        buffer.append(number: number)
    }

    /// Appends an entry of an `a{sv}` that holds a number of type `t`.
    public mutating func appendEntry(_ key: EntryKey, _ number: UInt64) throws(MessageEncodingError) {
        try begin(key, TypeCode.uint64, size: 16)
        buffer.append(number: number)
    }

    /// Appends the part that all entries with a known key have in common.
    ///
    /// - Parameter code: The code of the value's type; 0 for a type of several letters.
    private mutating func begin(_ key: EntryKey, _ code: UInt8, size: Int) throws(MessageEncodingError) {
        try proceed()
        guard key.code == code, expected.takeEntry(of: types) else { throw failed(.inconsistentValue) }
        guard depth + 1 < Self.maximumDepth else { throw failed(.tooDeep) }
        try spend(8 + key.bytes.count + 8 + size)
        buffer.pad(to: 8)
        key.bytes.withUnsafeBytes { buffer.append(contentsOf: $0) }
    }

    /// Appends a structure. `body` writes the fields.
    public mutating func appendStructure(
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try appendBracketed(UInt8(ascii: "("), body)
    }

    private mutating func appendBracketed(
        _ bracket: UInt8,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        guard let fields = expected.takeBracketed(bracket, of: types) else { throw failed(.inconsistentValue) }
        try spend(8)
        buffer.pad(to: 8)
        try write(TypeCursor(fields), body)
    }

    /// Appends a variant that holds `value`.
    public mutating func appendVariant(_ value: Value) throws(MessageEncodingError) {
        if case .string(let text) = value { return try appendVariant(of: text) }
        try appendVariant(of: value.signature) { (writer) throws(MessageEncodingError) in
            try writer.append(contents: value)
        }
    }

    /// Appends a variant that holds a string. Most variants do, and a string's type needs no further checks.
    private mutating func appendVariant(of text: String) throws(MessageEncodingError) {
        try take(TypeCode.variant, size: 9 + text.utf8.count + 8)
        guard depth < Self.maximumDepth else { throw failed(.tooDeep) }
        buffer.append(signature: Self.string)
        guard buffer.append(text: text) else { throw failed(.nulInString) }
    }

    /// Appends a variant that holds one value of type `content`. `body` writes that value.
    public mutating func appendVariant(
        of content: Signature,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        // If the signature was built from others, it may be too long or too deep.
        guard expected.take(TypeCode.variant, of: types), content.isSingle else { throw failed(.inconsistentValue) }
        try spend(8 + content.rawValue.utf8.count)
        buffer.append(signature: content)
        let outer = types.count
        types.append(utf8: content.rawValue)
        try write(TypeCursor(outer..<types.count), body)
        types.truncate(to: outer)
    }

    /// Appends a dictionary from strings to values of any type, `a{sv}`. `body` writes the entries.
    public mutating func appendOptions(
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        try proceed()
        guard let entries = expected.takeOptions(of: types) else { throw failed(.inconsistentValue) }
        try appendArray(entries, body)
    }

    /// Appends a dictionary from strings to values of any type, `a{sv}`. The order of the entries is undefined.
    ///
    /// `options.write(to:)` has the same result, but takes several times as long, because its code is for dictionaries
    /// of all types.
    public mutating func append(options: [String: Value]) throws(MessageEncodingError) {
        try appendOptions { (writer) throws(MessageEncodingError) in
            for (key, value) in options {
                try writer.appendEntry { (writer) throws(MessageEncodingError) in
                    try writer.append(key)
                    try writer.appendVariant(value)
                }
            }
        }
    }

    private static let string: Signature = "s"

    /// Writes a container's values.
    private mutating func write(
        _ contents: TypeCursor,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        guard depth < Self.maximumDepth else { throw failed(.tooDeep) }
        let outer = expected
        expected = contents
        depth += 1
        do {
            try body(&self)
            try checkCompleteness()
        } catch {
            throw failed(error)
        }
        expected = outer
        depth -= 1
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
