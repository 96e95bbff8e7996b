internal import ByteCoding
internal import FoundationEssentials

/// A property list as a tree, before its keys are interpreted.
///
/// A manifest is first decoded into this tree, and then its keys are validated one by one. So every error can be
/// reported with the path of its key, and decoding continues after the first error.
indirect enum PropertyListValue: Sendable, Hashable {
    case string(String)
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])
    case date
    case data
    /// A value that has no meaning here or cannot be read: a set, a UID, a null, or a string with an invalid encoding
    /// or too many combining marks in a row.
    case unreadable

    /// The value's type, as messages describe it.
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

    /// Reads an XML or binary property list that is within the ``PropertyListLimits``.
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
        // The only way to find out a value's type is to try each type. A failed attempt costs about a microsecond, and
        // most values in a manifest are strings, so try strings first. Booleans come before numbers, because an integer
        // never decodes as a boolean, and integers before real numbers, because a whole real number decodes as an
        // integer.
        let container = try decoder.singleValueContainer()
        if let value = decoded(String.self, from: container) {
            self = value.hasTooManyMarks ? .unreadable : .string(value)
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

/// Returns the value if it has this type; otherwise nil.
///
/// The error from a failed attempt contains no more information.
private func decoded<Value: Decodable>(_ type: Value.Type, from container: any SingleValueDecodingContainer) -> Value? {
    do {
        return try container.decode(type)
    } catch {
        return nil
    }
}

/// Returns the innermost reason for a decoding error; the outer errors only say that decoding failed.
///
/// It leaves out the line, because the decoder says "line 1" for every line. ``PropertyListError/line(in:)`` finds the
/// real one.
private func reason(of error: any Error) -> String {
    guard case DecodingError.dataCorrupted(let context) = error else { return "\(error)" }
    guard let inner = context.underlyingError as? CocoaError,
        let text = unsafe inner.userInfo["NSDebugDescription"] as? String
    else { return context.debugDescription }
    return text.replacing(/\s(on|at) line [0-9]+/, with: "")
}
