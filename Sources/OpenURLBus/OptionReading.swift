internal import DBus

/// An `a{sv}` whose known keys have one type each; what the receiver does not know it ignores.
struct OptionReader {
    let options: [String: Value]

    private func value<T>(_ key: String, _ type: Signature, _ match: (Value) -> T?) throws(MessageDecodingError) -> T? {
        guard let value = options[key] else { return nil }
        guard let result = match(value) else {
            throw .invalidValue("'\(key)' has to be of type '\(type)', not '\(value.signature)'")
        }
        return result
    }

    func string(_ key: String) throws(MessageDecodingError) -> String? {
        try value(key, "s") { if case .string(let string) = $0 { string } else { nil } }
    }

    func bool(_ key: String) throws(MessageDecodingError) -> Bool? {
        try value(key, "b") { if case .boolean(let bool) = $0 { bool } else { nil } }
    }

    func uint32(_ key: String) throws(MessageDecodingError) -> UInt32? {
        try value(key, "u") { if case .uint32(let number) = $0 { number } else { nil } }
    }

    func uint64(_ key: String) throws(MessageDecodingError) -> UInt64? {
        try value(key, "t") { if case .uint64(let number) = $0 { number } else { nil } }
    }

    func strings(_ key: String) throws(MessageDecodingError) -> [String]? {
        try value(key, "as") { value in
            guard case .array(let elements, "s") = value else { return nil }
            return elements.compactMap(\.string)
        }
    }

    func stringDictionary(_ key: String) throws(MessageDecodingError) -> [String: String]? {
        try value(key, "a{ss}") { value in
            guard case .dictionary(let entries, "s", "s") = value else { return nil }
            var strings: [String: String] = [:]
            for (key, value) in entries { if let key = key.string { strings[key] = value.string } }
            return strings
        }
    }

    func dictionary(_ key: String) throws(MessageDecodingError) -> [String: Value]? {
        try value(key, "a{sv}") { value in
            guard case .dictionary(_, "s", "v") = value else { return nil }
            return value.options
        }
    }

    func dictionaries(_ key: String) throws(MessageDecodingError) -> [[String: Value]]? {
        try value(key, "aa{sv}") { value in
            guard case .array(let elements, "a{sv}") = value else { return nil }
            return elements.compactMap(\.options)
        }
    }

    func phases(_ key: String) throws(MessageDecodingError) -> [TracePhase]? {
        try value(key, "a(stb)") { value in
            guard case .array(let elements, "(stb)") = value else { return nil }
            return elements.compactMap { element in
                guard case .structure(let fields) = element, fields.count == 3, case .string(let name) = fields[0],
                    case .uint64(let microseconds) = fields[1], case .boolean(let answer) = fields[2]
                else { return nil }
                return TracePhase(name, microseconds: microseconds, answer: answer)
            }
        }
    }
}
