extension ArchivedValue {
    /// Archives a value.
    ///
    /// - Throws: any error from the value's own `encode(to:)`, and `EncodingError` for an integer of more than 64 bits,
    ///   or for values that are nested more than ``maximumDepth`` deep.
    init(encoding value: some Encodable) throws {
        let node = ArchiveNode()
        try ArchiveEncoder(node: node, codingPath: []).encode(value)
        self = node.value
    }

    fileprivate init?(leaf value: some Encodable, _ codingPath: [any CodingKey]) throws {
        switch value {
        case let value as Bool: self = .boolean(value)
        case let value as String: self = .string(value)
        case let value as Double: self = .double(value)
        case let value as Float: self = .double(Double(value))
        case let value as any FixedWidthInteger:
            if let integer = Int64(exactly: value) {
                self = .integer(integer)
            } else if let integer = UInt64(exactly: value) {
                self = .unsigned(integer)
            } else {
                throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "over 64 bits"))
            }
        default: return nil
        }
    }
}

private struct ArchiveEncoder: Encoder {
    let node: ArchiveNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func encode(_ value: some Encodable) throws {
        if let leaf = try ArchivedValue(leaf: value, codingPath) { return node.set(leaf) }
        guard codingPath.count < ArchivedValue.maximumDepth - 1 else {
            throw EncodingError.invalidValue(
                value,
                .init(codingPath: codingPath, debugDescription: "nested too deeply")
            )
        }
        try value.encode(to: self)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.makeRecord()
        return KeyedEncodingContainer(Fields(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.makeArray()
        return Elements(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleValue(encoder: self) }
}

private struct SingleValue: SingleValueEncodingContainer {
    let encoder: ArchiveEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() { encoder.node.set(.null) }
    func encode(_ value: some Encodable) throws { try encoder.encode(value) }
}

private struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ArchiveEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func field(_ key: some CodingKey) -> ArchiveEncoder {
        ArchiveEncoder(node: encoder.node.field(key.stringValue), codingPath: codingPath + [key])
    }

    func encodeNil(forKey key: Key) { field(key).node.set(.null) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try field(key).encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        field(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { field(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { field(ArchiveKey.parent) }
    func superEncoder(forKey key: Key) -> any Encoder { field(key) }
}

private struct Elements: UnkeyedEncodingContainer {
    let encoder: ArchiveEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.elements.count }

    private func element() -> ArchiveEncoder {
        let key = ArchiveKey(count)
        return ArchiveEncoder(node: encoder.node.append(), codingPath: codingPath + [key])
    }

    func encodeNil() { element().node.set(.null) }
    func encode(_ value: some Encodable) throws { try element().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        element().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
    func superEncoder() -> any Encoder { element() }
}

/// The key of an array's element, or of a superclass's values.
struct ArchiveKey: CodingKey {
    static let parent = ArchiveKey(stringValue: "super")

    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    init(_ index: Int) {
        self.init(intValue: index)
    }
}
