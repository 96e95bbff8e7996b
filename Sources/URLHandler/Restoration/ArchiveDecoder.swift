extension ArchivedValue {
    /// Creates a value from its archived form.
    ///
    /// - Throws: `DecodingError` if it is another type's form, and any error from the value's own `init(from:)`.
    func decoded<Content: Decodable>(as type: Content.Type) throws -> Content {
        try ArchiveDecoder(value: self, codingPath: []).decode(type)
    }
}

private struct ArchiveDecoder: Decoder {
    let value: ArchivedValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func decode<Content: Decodable>(_ type: Content.Type) throws -> Content {
        if type is Bool.Type, case .boolean(let boolean) = value, let result = boolean as? Content { return result }
        if type is String.Type, case .string(let string) = value, let result = string as? Content { return result }
        if let type = type as? any BinaryFloatingPoint.Type {
            if case .double(let double) = value, let result = type.init(double) as? Content { return result }
            throw mismatch(type)
        }
        if let type = type as? any FixedWidthInteger.Type {
            if let result = integer(type) as? Content { return result }
            throw mismatch(type)
        }
        if type is Bool.Type || type is String.Type { throw mismatch(type) }
        return try type.init(from: self)
    }

    private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        switch value {
        case .integer(let integer): Integer(exactly: integer)
        case .unsigned(let integer): Integer(exactly: integer)
        default: nil
        }
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "the state has no \(type) here")
        return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .record(let fields) = value else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(Fields(fields: fields, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([Any].self) }
        return Elements(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { SingleValue(decoder: self) }
}

private struct SingleValue: SingleValueDecodingContainer {
    let decoder: ArchiveDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value == .null }
    func decode<Content: Decodable>(_ type: Content.Type) throws -> Content { try decoder.decode(type) }
}

private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: ArchivedValue]
    let codingPath: [any CodingKey]
    var allKeys: [Key] { fields.keys.compactMap(Key.init(stringValue:)) }

    private func field(_ key: some CodingKey) throws -> ArchiveDecoder {
        guard let value = fields[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key,
                .init(codingPath: codingPath, debugDescription: "the state has no '\(key.stringValue)' here")
            )
        }
        return ArchiveDecoder(value: value, codingPath: codingPath + [key])
    }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try field(key).value == .null }
    func decode<Content: Decodable>(_ type: Content.Type, forKey key: Key) throws -> Content {
        try field(key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try field(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try field(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try field(ArchiveKey.parent) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try field(key) }
}

private struct Elements: UnkeyedDecodingContainer {
    let elements: [ArchivedValue]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    init(elements: [ArchivedValue], codingPath: [any CodingKey]) {
        self.elements = elements
        self.codingPath = codingPath
    }

    private func element() throws -> ArchiveDecoder {
        let path = codingPath + [ArchiveKey(currentIndex)]
        guard !isAtEnd else {
            let context = DecodingError.Context(
                codingPath: path,
                debugDescription: "the state's array ends before this element"
            )
            throw DecodingError.valueNotFound(Any.self, context)
        }
        return ArchiveDecoder(value: elements[currentIndex], codingPath: path)
    }

    /// Reads the next element. If it cannot be read, it remains the next one.
    private mutating func next<Result>(_ body: (ArchiveDecoder) throws -> Result) throws -> Result {
        let result = try body(try element())
        currentIndex += 1
        return result
    }

    mutating func decodeNil() throws -> Bool {
        guard try element().value == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Content: Decodable>(_ type: Content.Type) throws -> Content {
        try next { try $0.decode(type) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}
