/// Access to a value whose exact type is not known: an integer may have arrived as any of eight types, and any value
/// may be in a variant.
extension Value {
    /// The value as a whole number; nil if it is not an integer or is out of range.
    public var int: Int? {
        switch content {
        case .byte(let number): Int(number)
        case .int16(let number): Int(number)
        case .uint16(let number): Int(number)
        case .int32(let number): Int(number)
        case .uint32(let number): Int(exactly: number)
        case .int64(let number): Int(exactly: number)
        case .uint64(let number): Int(exactly: number)
        default: nil
        }
    }

    /// The value as a number; nil if it is not a number. A large integer is rounded.
    public var double: Double? {
        switch content {
        case .double(let number): number
        case .uint64(let number): Double(number)
        default: int.map(Double.init)
        }
    }

    /// The value as a boolean; nil if it is not one.
    public var bool: Bool? {
        if case .boolean(let boolean) = content { boolean } else { nil }
    }

    /// The elements of an array or the fields of a structure, without variants around them; nil if the value is
    /// neither.
    public var array: [Value]? {
        switch content {
        case .array(let elements, _), .structure(let elements): elements.map(\.content)
        default: nil
        }
    }

    /// The value for a key in a dictionary with strings as keys; nil if there is no such key, or if the value is not
    /// such a dictionary.
    public subscript(key: String) -> Value? {
        guard case .dictionary(let entries, _, _) = content else { return nil }
        return entries[.string(key)]?.content
    }

    /// The value without any variants around it.
    var content: Value {
        var value = self
        while case .variant(let inner) = value { value = inner }
        return value
    }
}

extension Value: CustomStringConvertible {
    /// The value for a log or a debugger, as in `{"id": "17", "sizes": [1, 2]}`. Types are left out.
    public var description: String {
        switch self {
        case .byte(let number): "\(number)"
        case .boolean(let boolean): "\(boolean)"
        case .int16(let number): "\(number)"
        case .uint16(let number): "\(number)"
        case .int32(let number): "\(number)"
        case .uint32(let number): "\(number)"
        case .int64(let number): "\(number)"
        case .uint64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let string): string.debugDescription
        case .objectPath(let path): path.rawValue.debugDescription
        case .signature(let signature): signature.rawValue.debugDescription
        case .unixFD: "an open file"
        case .array(let elements, _): "[\(elements.map(\.description).joined(separator: ", "))]"
        case .dictionary(let entries, _, _):
            "{\(entries.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", "))}"
        case .structure(let fields): "(\(fields.map(\.description).joined(separator: ", ")))"
        case .variant(let inner): inner.description
        }
    }
}
