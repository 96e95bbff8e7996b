extension Value {
    /// Maximum number of descriptors in one message. System buses allow no more.
    public static let maximumDescriptors = 16

    /// Number of descriptors in the value and its parts.
    public var descriptorCount: Int {
        switch self {
        case .unixFD: 1
        case .array(let elements, _): elements.descriptorCount
        case .structure(let fields): fields.descriptorCount
        case .dictionary(let entries, _, _): entries.keys.descriptorCount + entries.values.descriptorCount
        case .variant(let content): content.descriptorCount
        case .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .string, .objectPath,
            .signature:
            0
        }
    }

    /// Takes over the descriptors in a value that has arrived in a call, so that they stay open when the caller leaves
    /// the bus.
    ///
    /// - Returns: The value with the descriptors, each of which is closed when its last reference is gone; nil if a
    ///   descriptor was closed or taken before. The original value no longer has descriptors.
    public func takingDescriptors() -> Value? {
        guard descriptorCount > 0 else { return self }
        switch self {
        case .unixFD(let received): return received.take().map { .unixFD(UnixFD(owning: $0)) }
        case .array(let elements, let type): return elements.takingDescriptors().map { .array($0, of: type) }
        case .structure(let fields): return fields.takingDescriptors().map { .structure($0) }
        case .dictionary(let entries, let key, let value):
            guard let keys = Array(entries.keys).takingDescriptors(),
                let values = Array(entries.values).takingDescriptors()
            else { return nil }
            return .dictionary(Dictionary(zip(keys, values)) { $1 }, key: key, value: value)
        case .variant(let content): return content.takingDescriptors().map { .variant($0) }
        case .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .string, .objectPath,
            .signature:
            return self
        }
    }
}

extension Sequence<Value> {
    /// Number of descriptors in all values together.
    public var descriptorCount: Int { reduce(0) { $0 + $1.descriptorCount } }
}

extension [Value] {
    fileprivate func takingDescriptors() -> [Value]? {
        var taken: [Value] = []
        for value in self {
            guard let value = value.takingDescriptors() else { return nil }
            taken.append(value)
        }
        return taken
    }
}
