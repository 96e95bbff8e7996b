import FoundationEssentials

@testable import SchemeRegistry

extension PropertyListValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .boolean(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(floatLiteral value: Double) { self = .real(value) }
    init(arrayLiteral elements: PropertyListValue...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self = .dictionary(Dictionary(uniqueKeysWithValues: elements))
    }
}

extension PropertyListValue: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .dictionary(let value): try container.encode(value)
        case .date: try container.encode(Date(timeIntervalSince1970: 0))
        case .data: try container.encode(Data([1, 2, 3]))
        case .unreadable: try container.encodeNil()
        }
    }

    func encoded(_ format: PropertyListDecoder.PropertyListFormat = .xml) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        return Array(try encoder.encode(self))
    }

    subscript(key: String) -> PropertyListValue? {
        get {
            guard case .dictionary(let keys) = self else { return nil }
            return keys[key]
        }
        set {
            guard case .dictionary(var keys) = self else { return }
            keys[key] = newValue
            self = .dictionary(keys)
        }
    }
}

/// Returns the keys of a valid manifest.
func manifest(
    _ id: String,
    schemes: [String] = ["todolist"],
    hosts: [String]? = nil,
    isFixed: Bool = false,
    executable: String = "/usr/bin/handler"
) -> PropertyListValue {
    var type: PropertyListValue = ["CFBundleURLSchemes": .array(schemes.map { .string($0) })]
    type["OUHosts"] = hosts.map { .array($0.map { .string($0) }) }
    var list: PropertyListValue = [
        "CFBundleIdentifier": .string(id), "CFBundleExecutable": .string(executable), "CFBundleURLTypes": [type],
    ]
    if isFixed { list["OUFixed"] = true }
    return list
}
