public import DBus

/// A Swift type whose values can be stored under a key of an `a{sv}`.
package protocol FieldValue: DBusType, Equatable {
    /// The words that a value can be; empty if the type is not a list of words.
    static var words: [String] { get }

    /// Extracts the content of a variant.
    ///
    /// - Returns: Nil if the variant holds another type.
    init?(value: Value) throws(MessageDecodingError)

    /// Reads a variant directly, without a `Value` in between, if it holds exactly the type of `signature`.
    ///
    /// - Returns: Nil if the variant is still to be read, as a `Value`.
    static func readVariant(_ reader: inout MessageReader) throws(MessageDecodingError) -> Self?

    /// Appends an entry of an `a{sv}` that holds the value.
    func appendEntry(_ key: EntryKey, to writer: inout MessageWriter) throws(MessageEncodingError)

    /// This value for output.
    var content: FieldContent { get }
}

/// A field's content, for output such as JSON.
package indirect enum FieldContent: Sendable {
    /// A value without parts, or one whose type is known only at run time.
    case value(Value)
    /// Values in order.
    case list([FieldContent])
    /// Named values in order. A nil content is a key without a value.
    case record([(key: String, content: FieldContent?)])
}

extension FieldContent {
    /// This content as one value, in which the elements of a list are variants.
    package var asValue: Value {
        switch self {
        case .value(let value): return value
        case .list(let elements): return .array(elements.map { .variant($0.asValue) }, of: "v")
        case .record(let members):
            var options: [String: Value] = [:]
            for (key, content) in members { options[key] = content?.asValue }
            return .options(options)
        }
    }
}

extension FieldValue {
    package static var words: [String] { [] }

    package static func readVariant(_ reader: inout MessageReader) throws(MessageDecodingError) -> Self? {
        try reader.readVariant(ifOf: signature) { (reader) throws(MessageDecodingError) in try Self(from: &reader) }
    }

    package func appendEntry(_ key: EntryKey, to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendEntry(key) { (writer) throws(MessageEncodingError) in try write(to: &writer) }
    }
}

extension Bool: FieldValue {
    package init?(value: Value) {
        guard case .boolean(let bool) = value else { return nil }
        self = bool
    }

    package var content: FieldContent { .value(.boolean(self)) }
}

extension UInt32: FieldValue {
    package init?(value: Value) {
        guard let number: UInt32 = value.integer() else { return nil }
        self = number
    }

    package func appendEntry(_ key: EntryKey, to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendEntry(key, self)
    }

    package var content: FieldContent { .value(.uint32(self)) }
}

extension UInt64: FieldValue {
    package init?(value: Value) {
        guard let number: UInt64 = value.integer() else { return nil }
        self = number
    }

    package func appendEntry(_ key: EntryKey, to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendEntry(key, self)
    }

    package var content: FieldContent { .value(.uint64(self)) }
}

extension String: FieldValue {
    package init?(value: Value) {
        guard case .string(let string) = value else { return nil }
        self = string
    }

    package func appendEntry(_ key: EntryKey, to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendEntry(key, self)
    }

    package var content: FieldContent { .value(.string(self)) }
}

extension Value: FieldValue {
    package init?(value: Value) {
        self = value
    }

    package static func readVariant(_ reader: inout MessageReader) throws(MessageDecodingError) -> Value? {
        try reader.readVariant()
    }

    /// Appends an entry whose variant has the type of this value.
    package func appendEntry(_ key: EntryKey, to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendEntry { (writer) throws(MessageEncodingError) in
            try writer.append(key.text)
            try writer.appendVariant(self)
        }
    }

    package var content: FieldContent { .value(self) }
}

extension Array: FieldValue where Element: FieldValue {
    package init?(value: Value) throws(MessageDecodingError) {
        guard case .array(let elements, Element.signature) = value else { return nil }
        self = []
        reserveCapacity(elements.count)
        for element in elements {
            guard let element = try Element(value: element) else { return nil }
            append(element)
        }
    }

    package var content: FieldContent { .list(map(\.content)) }
}

extension Dictionary: FieldValue where Key == String, Value: FieldValue {
    package init?(value: DBus.Value) throws(MessageDecodingError) {
        guard case .dictionary(let entries, "s", Value.signature) = value else { return nil }
        self = Dictionary(minimumCapacity: entries.count)
        for (key, value) in entries {
            guard case .string(let key) = key, let value = try Value(value: value.unwrapped) else { return nil }
            self[key] = value
        }
    }

    /// The entries in the order of their keys.
    package var content: FieldContent {
        .record(sorted { $0.key < $1.key }.map { (key: $0.key, content: $0.value.content) })
    }
}

extension Value {
    /// Converts an integer of any type; nil if the result type cannot hold it. Other languages are not so careful about
    /// types: Python sends each small number as an `i`.
    fileprivate func integer<Result: FixedWidthInteger>() -> Result? {
        switch self {
        case .byte(let number): Result(exactly: number)
        case .int16(let number): Result(exactly: number)
        case .uint16(let number): Result(exactly: number)
        case .int32(let number): Result(exactly: number)
        case .uint32(let number): Result(exactly: number)
        case .int64(let number): Result(exactly: number)
        case .uint64(let number): Result(exactly: number)
        case .boolean, .double, .string, .objectPath, .signature, .unixFD, .array, .dictionary, .structure, .variant:
            nil
        }
    }

    /// The content of a variant; any other value unchanged.
    var unwrapped: Value {
        if case .variant(let content) = self { content } else { self }
    }
}
