package import DBus
package import OpenURLBus

/// A JSON text (RFC 8259) that keeps the order of an object's members.
///
/// It escapes the control characters for terminals and for bidirectional text, which could mislead people who read the
/// output. `JSONEncoder` leaves these characters as they are, because JSON allows them.
package indirect enum JSON {
    /// A number, `true`, `false` or `null`.
    case literal(String)
    case string(String)
    case array([JSON])
    case object([(name: String, value: JSON)])

    package static let null = JSON.literal("null")

    package static func boolean(_ value: Bool) -> JSON { .literal(value ? "true" : "false") }

    package static func number(_ value: some BinaryInteger) -> JSON { .literal(String(value)) }

    package static func strings(_ values: [String]) -> JSON { .array(values.map { .string($0) }) }

    /// The text, without line breaks.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .literal(let literal): text += literal
        case .string(let string): Self.write(string, to: &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.isControl:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension JSON {
    /// Converts a value from the bus.
    ///
    /// A variant becomes its content, and a structure becomes an array. Dictionary keys become strings, and are sorted.
    /// A value that is a descriptor, or a number that is not finite, becomes null.
    package init(_ value: Value) {
        switch value {
        case .byte(let number): self = .number(number)
        case .boolean(let boolean): self = .boolean(boolean)
        case .int16(let number): self = .number(number)
        case .uint16(let number): self = .number(number)
        case .int32(let number): self = .number(number)
        case .uint32(let number): self = .number(number)
        case .int64(let number): self = .number(number)
        case .uint64(let number): self = .number(number)
        case .double(let number): self = number.isFinite ? .literal(number.description) : .null
        case .string(let string): self = .string(string)
        case .objectPath(let path): self = .string(path.rawValue)
        case .signature(let signature): self = .string(signature.rawValue)
        case .unixFD: self = .null
        case .array(let elements, _), .structure(let elements): self = .array(elements.map { JSON($0) })
        case .dictionary(let entries, _, _):
            let members = entries.map { (name: JSON($0.key).name, value: JSON($0.value)) }
            self = .object(members.sorted { $0.name < $1.name })
        case .variant(let inner): self = JSON(inner)
        }
    }

    /// Converts a value from the contract, with the same keys as on the bus. A key without a value is null.
    package init(_ record: some Record) {
        self.init(record.content)
    }

    /// Converts a field's content.
    package init(_ content: FieldContent) {
        switch content {
        case .value(let value): self.init(value)
        case .list(let elements): self = .array(elements.map { JSON($0) })
        case .record(let members):
            self = .object(members.map { (name: $0.key, value: $0.content.map { JSON($0) } ?? .null) })
        }
    }

    /// The value as a member's name.
    private var name: String {
        if case .string(let string) = self { string } else { text }
    }
}
