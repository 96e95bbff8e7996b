internal import RFC1808

extension GenericURL {
    /// The parts by name, as they were written; nil is a part that is absent.
    private var parts: [(name: String, text: String?)] {
        [
            ("scheme", scheme),
            ("user", user.map(String.init)),
            ("password", password.map(String.init)),
            ("host", host.map(String.init)),
            ("port", port.map { String($0) }),
            ("opaquePart", opaquePart.map(String.init)),
            ("path", String(path)),
            ("parameters", parameters.map(String.init)),
            ("query", query.map(String.init)),
            ("fragment", fragment.map(String.init)),
        ]
    }

    /// A row for each part; one that is absent and one that is empty look different.
    var table: Table {
        let rows = parts.map { [$0.name, $0.text.map { $0.isEmpty ? "\"\"" : $0 } ?? Table.absent] }
        return Table(rows: [["url", description]] + rows)
    }

    /// The parts as an object; the port is a number.
    var json: JSON {
        let members = parts.map { part in
            (name: part.name, value: part.text.map { part.name == "port" ? .literal($0) : .string($0) } ?? JSON.null)
        }
        return .object([("url", .string(description))] + members)
    }
}

extension GenericURL.ParseError {
    /// What is wrong with an input, as an object; of one that is too long it holds the start.
    func json(of input: [UInt8]) -> JSON {
        let start = input.prefix(GenericURL.defaultMaximumLength)
        return .object([
            ("url", .string(String(decoding: start, as: UTF8.self))),
            ("error", .string(name)),
            ("offset", .number(offset)),
            ("message", .string(description)),
        ])
    }
}
