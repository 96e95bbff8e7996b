/// A value whose type is known only at run time, such as the content of a variant.
public enum Value: Sendable, Hashable {
    /// A value of type `y`.
    case byte(UInt8)
    /// A value of type `b`.
    case boolean(Bool)
    /// A value of type `n`.
    case int16(Int16)
    /// A value of type `q`.
    case uint16(UInt16)
    /// A value of type `i`.
    case int32(Int32)
    /// A value of type `u`.
    case uint32(UInt32)
    /// A value of type `x`.
    case int64(Int64)
    /// A value of type `t`.
    case uint64(UInt64)
    /// A value of type `d`.
    case double(Double)
    /// A value of type `s`. It cannot be sent if it contains a NUL.
    case string(String)
    /// A value of type `o`.
    case objectPath(ObjectPath)
    /// A value of type `g`.
    case signature(Signature)
    /// A value of type `h`.
    case unixFD(UnixFD)
    /// An array: `a`, followed by the elements' signature. It cannot be sent if an element has a different signature.
    indirect case array([Value], of: Signature)
    /// A dictionary: `a{…}`. It cannot be sent if a key or a value has a signature other than the one given.
    indirect case dictionary([Value: Value], key: Signature, value: Signature)
    /// A structure: `(…)`, with at least one field.
    case structure([Value])
    /// A value of type `v`.
    indirect case variant(Value)

    /// Creates a dictionary from strings to values of any type, `a{sv}`.
    public static func options(_ options: [String: Value]) -> Value {
        var entries: [Value: Value] = [:]
        for (key, value) in options { entries[.string(key)] = .variant(value) }
        return .dictionary(entries, key: "s", value: "v")
    }

    /// The type of the value.
    public var signature: Signature {
        switch self {
        case .byte: Signature(trusted: "y")
        case .boolean: Signature(trusted: "b")
        case .int16: Signature(trusted: "n")
        case .uint16: Signature(trusted: "q")
        case .int32: Signature(trusted: "i")
        case .uint32: Signature(trusted: "u")
        case .int64: Signature(trusted: "x")
        case .uint64: Signature(trusted: "t")
        case .double: Signature(trusted: "d")
        case .string: Signature(trusted: "s")
        case .objectPath: Signature(trusted: "o")
        case .signature: Signature(trusted: "g")
        case .unixFD: Signature(trusted: "h")
        case .array(_, let element): Signature(trusted: "a" + element.rawValue)
        case .dictionary(_, let key, let value): Signature(trusted: "a{\(key.rawValue)\(value.rawValue)}")
        case .structure(let fields): Signature(trusted: "(" + fields.map(\.signature.rawValue).joined() + ")")
        case .variant: Signature(trusted: "v")
        }
    }

    /// The string; nil if the value is not one.
    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The entries of a dictionary with strings as keys; nil if the value is not such a dictionary. If a value is a
    /// variant, its content replaces it.
    public var options: [String: Value]? {
        guard case .dictionary(let entries, "s", _) = self else { return nil }
        var options: [String: Value] = [:]
        for case (.string(let key), let value) in entries {
            if case .variant(let inner) = value { options[key] = inner } else { options[key] = value }
        }
        return options
    }
}

extension Value {
    /// Converts the value to a type that is known at compile time.
    ///
    /// - Throws: ``MessageDecodingError/wrongType(expected:found:)`` if the value has another type.
    func converted<Content: DBusType>() throws -> Content {
        guard signature == Content.signature else {
            throw MessageDecodingError.wrongType(expected: Content.signature, found: signature.rawValue)
        }
        return try Message.converted(self)
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
    /// Creates a string.
    public init(stringLiteral literal: String) {
        self = .string(literal)
    }

    /// Creates a boolean.
    public init(booleanLiteral literal: Bool) {
        self = .boolean(literal)
    }
}
