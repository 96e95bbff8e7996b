/// A value whose type is known at run time only: what a variant (`v`) holds.
public enum Value: Sendable, Hashable {
    /// `y`
    case byte(UInt8)
    /// `b`
    case boolean(Bool)
    /// `n`
    case int16(Int16)
    /// `q`
    case uint16(UInt16)
    /// `i`
    case int32(Int32)
    /// `u`
    case uint32(UInt32)
    /// `x`
    case int64(Int64)
    /// `t`
    case uint64(UInt64)
    /// `d`
    case double(Double)
    /// `s`; a string with a NUL in it cannot be sent.
    case string(String)
    /// `o`
    case objectPath(ObjectPath)
    /// `g`
    case signature(Signature)
    /// `h`
    case unixFD(UnixFD)
    /// `a` and the elements' signature. Every element has that signature, or the array cannot be sent.
    indirect case array([Value], of: Signature)
    /// `a{…}`. Every key and every value has its signature, or the dictionary cannot be sent.
    indirect case dictionary([Value: Value], key: Signature, value: Signature)
    /// `(…)`, with one field at least.
    case structure([Value])
    /// `v`
    indirect case variant(Value)

    /// A dictionary from strings to values of any type, `a{sv}`.
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

    /// The string, where the value is one.
    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The entries, where the value is a dictionary with strings as keys; variants among the values are opened.
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
    /// The same value as a type that is known when the program is compiled.
    ///
    /// - Throws: ``MessageDecodingError/wrongType(expected:found:)`` where it is another.
    func converted<Content: DBusType>() throws -> Content {
        guard signature == Content.signature else {
            throw MessageDecodingError.wrongType(expected: Content.signature, found: signature.rawValue)
        }
        return try Message.converted(self)
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
    /// Makes a string.
    public init(stringLiteral literal: String) {
        self = .string(literal)
    }

    /// Makes a boolean.
    public init(booleanLiteral literal: Bool) {
        self = .boolean(literal)
    }
}
