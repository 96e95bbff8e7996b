import FoundationEssentials

/// A property list as a tree, before anything is known about its keys.
///
/// A manifest is decoded into this first and validated by hand, so that every mistake is reported with the path of its
/// key instead of ending the decoding at the first one.
indirect enum PropertyListValue: Sendable, Hashable {
    case string(String)
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])
    case date
    case data
    /// A value without meaning here or that cannot be read: a set, a UID, a null, a string in a broken encoding.
    case unreadable

    /// The value's type as a message names it.
    var typeName: String {
        switch self {
        case .string: "a string"
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .real: "a real number"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case .date: "a date"
        case .data: "data"
        case .unreadable: "a value that cannot be read"
        }
    }

    /// Reads an XML or a binary property list that stays within the limits of ``PropertyListLimits``.
    init(bytes: [UInt8]) throws(PropertyListError) {
        if bytes.starts(with: BinaryPropertyListGuard.magic) {
            try BinaryPropertyListGuard(bytes).check()
        } else {
            try checkXMLPropertyList(bytes)
        }
        do {
            self = try PropertyListDecoder().decode(PropertyListValue.self, from: Data(bytes))
        } catch {
            throw .malformed(reason(of: error))
        }
    }
}

extension PropertyListValue: Decodable {
    init(from decoder: any Decoder) throws {
        // The decoder tells types apart only by being asked. An attempt costs about a microsecond, and most values of a
        // manifest are strings. A whole real decodes as an integer, an integer never as a boolean.
        let container = try decoder.singleValueContainer()
        if let value = decoded(String.self, from: container) {
            self = .string(value)
        } else if let value = decoded([String: PropertyListValue].self, from: container) {
            self = .dictionary(value)
        } else if let value = decoded([PropertyListValue].self, from: container) {
            self = .array(value)
        } else if let value = decoded(Bool.self, from: container) {
            self = .boolean(value)
        } else if let value = decoded(Int64.self, from: container) {
            self = .integer(value)
        } else if let value = decoded(Double.self, from: container) {
            self = .real(value)
        } else if decoded(Date.self, from: container) != nil {
            self = .date
        } else if decoded(Data.self, from: container) != nil {
            self = .data
        } else {
            self = .unreadable
        }
    }
}

/// The value if it has this type.
///
/// The error of a failed attempt is the answer no, and carries nothing else.
private func decoded<Value: Decodable>(_ type: Value.Type, from container: any SingleValueDecodingContainer) -> Value? {
    do {
        return try container.decode(type)
    } catch {
        return nil
    }
}

/// The innermost sentence of a decoding error; the outer ones say only that decoding failed.
private func reason(of error: any Error) -> String {
    guard case DecodingError.dataCorrupted(let context) = error else { return "\(error)" }
    guard let inner = context.underlyingError as? CocoaError,
        let text = inner.userInfo["NSDebugDescription"] as? String
    else { return context.debugDescription }
    return text
}
