extension Value {
    /// Reads the value as one of the program's types, such as a structure with a property for each key in a reply.
    ///
    /// A dictionary with strings as keys becomes a type with these keys, an array or a structure becomes an array, and
    /// a number becomes any numeric type that can hold it. Variants are replaced by their contents.
    ///
    /// ```swift
    /// struct Note: Decodable { var id: Int, title: String? }
    /// let note = try result.reply.decoded(as: Note.self)
    /// ```
    ///
    /// - Throws: `DecodingError` if a key is missing or a value has another type, and whatever the type's own
    ///   `init(from:)` throws.
    public func decoded<Content: Decodable>(as type: Content.Type = Content.self) throws -> Content {
        try ValueDecoder(value: content, codingPath: []).decode(type)
    }
}

extension [String: Value] {
    /// Reads a reply's values, as ``Value/decoded(as:)`` does.
    public func decoded<Content: Decodable>(as type: Content.Type = Content.self) throws -> Content {
        try Value.options(self).decoded(as: type)
    }
}

private struct ValueDecoder: Decoder {
    let value: Value
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func decode<Content: Decodable>(_ type: Content.Type) throws -> Content {
        if let same = value as? Content { return same }
        if let basic = basic(type) {
            guard let result = basic as? Content else { throw mismatch(type) }
            return result
        }
        return try type.init(from: self)
    }

    /// The value as a basic type: nil for any other type, and an inner nil if the type cannot hold the value.
    private func basic(_ type: Any.Type) -> Any?? {
        switch type {
        case is Bool.Type: .some(value.bool)
        case is String.Type: .some(value.string)
        case let type as any BinaryFloatingPoint.Type: .some(value.double.map { type.init($0) })
        case let type as any FixedWidthInteger.Type: .some(integer(type))
        default: nil
        }
    }

    private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        if case .uint64(let number) = value { return Integer(exactly: number) }
        return value.int.flatMap { Integer(exactly: $0) }
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        let description = "the value of type '\(value.signature)' is not a \(type)"
        return .typeMismatch(type, .init(codingPath: codingPath, debugDescription: description))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let entries = value.options else { throw mismatch([String: Value].self) }
        return KeyedDecodingContainer(Entries(entries: entries, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value.array else { throw mismatch([Value].self) }
        return Elements(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { SingleValue(decoder: self) }
}

private struct SingleValue: SingleValueDecodingContainer {
    let decoder: ValueDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { false }
    func decode<Content: Decodable>(_ type: Content.Type) throws -> Content { try decoder.decode(type) }
}

private struct Entries<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let entries: [String: Value]
    let codingPath: [any CodingKey]
    var allKeys: [Key] { entries.keys.compactMap(Key.init(stringValue:)) }

    private func entry(_ key: some CodingKey) throws -> ValueDecoder {
        guard let value = entries[key.stringValue] else {
            let description = "there is no key '\(key.stringValue)'"
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: description))
        }
        return ValueDecoder(value: value.content, codingPath: codingPath + [key])
    }

    func contains(_ key: Key) -> Bool { entries[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { entries[key.stringValue] == nil }
    func decode<Content: Decodable>(_ type: Content.Type, forKey key: Key) throws -> Content {
        try entry(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try entry(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try entry(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try entry(Position(stringValue: "super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try entry(key) }
}

private struct Elements: UnkeyedDecodingContainer {
    let elements: [Value]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    init(elements: [Value], codingPath: [any CodingKey]) {
        self.elements = elements
        self.codingPath = codingPath
    }

    /// Reads the next element. If it cannot be read, it remains the next one.
    private mutating func next<Result>(_ body: (ValueDecoder) throws -> Result) throws -> Result {
        let path = codingPath + [Position(intValue: currentIndex)]
        guard !isAtEnd else {
            let context = DecodingError.Context(
                codingPath: path,
                debugDescription: "the array ends before this element"
            )
            throw DecodingError.valueNotFound(Value.self, context)
        }
        let result = try body(ValueDecoder(value: elements[currentIndex].content, codingPath: path))
        currentIndex += 1
        return result
    }

    func decodeNil() -> Bool { false }

    mutating func decode<Content: Decodable>(_ type: Content.Type) throws -> Content {
        try next { try $0.decode(type) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}

/// The position of an element, or the name of a superclass.
private struct Position: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}
