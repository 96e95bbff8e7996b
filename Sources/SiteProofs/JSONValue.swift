internal import CJansson

/// A JSON document, read by libjansson, which refuses repeated keys, invalid UTF-8, NUL and deep nesting.
indirect enum JSONValue: Equatable {
    case object([String: JSONValue])
    case array([JSONValue])
    case string(String)
    case boolean(Bool)
    /// A number, or null. The files about apps have no use for either.
    case other

    /// Thrown for bytes that are not such a document.
    struct ParseError: Error {
        let reason: String
    }

    /// Number of values in a document.
    private static let maximumCount = 20_000
    /// Depth of nesting in a document.
    private static let maximumDepth = 32

    init(bytes: [UInt8]) throws(ParseError) {
        var error = json_error_t()
        let root = bytes.withUnsafeBufferPointer { buffer in
            buffer.baseAddress.flatMap { start in
                start.withMemoryRebound(to: CChar.self, capacity: buffer.count) {
                    json_loadb($0, buffer.count, Int(JSON_REJECT_DUPLICATES), &error)
                }
            }
        }
        guard let root else {
            let reason = withUnsafeBytes(of: &error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw ParseError(reason: "is not JSON: line \(error.line): \(reason)")
        }
        defer { json_decref(root) }
        var count = 0
        self = try Self.value(root, depth: 0, &count)
    }

    private static func value(
        _ json: UnsafeMutablePointer<json_t>,
        depth: Int,
        _ count: inout Int
    ) throws(ParseError) -> JSONValue {
        count += 1
        guard count <= maximumCount else { throw ParseError(reason: "has more than \(maximumCount) values") }
        guard depth <= maximumDepth else { throw ParseError(reason: "is nested deeper than \(maximumDepth)") }
        switch json.pointee.type {
        case JSON_OBJECT:
            var members: [String: JSONValue] = [:]
            var iterator = json_object_iter(json)
            while let current = iterator {
                guard let key = json_object_iter_key(current), let member = json_object_iter_value(current) else {
                    break
                }
                members[String(cString: key)] = try value(member, depth: depth + 1, &count)
                iterator = json_object_iter_next(json, current)
            }
            return .object(members)
        case JSON_ARRAY:
            var elements: [JSONValue] = []
            for index in 0..<json_array_size(json) {
                guard let element = json_array_get(json, index) else { break }
                elements.append(try value(element, depth: depth + 1, &count))
            }
            return .array(elements)
        case JSON_STRING: return .string(json_string_value(json).map { String(cString: $0) } ?? "")
        case JSON_TRUE: return .boolean(true)
        case JSON_FALSE: return .boolean(false)
        default: return .other
        }
    }

    /// The member of an object with a key; nil for any other value.
    subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }

    /// The elements of an array of strings; nil for any other value.
    var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }
}
