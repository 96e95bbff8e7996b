internal import RFC1808
internal import URLOpener

extension GenericURL {
    /// Each part's unchanged text; nil if the part is absent.
    private var parts: [(name: String, text: String?)] {
        [
            ("scheme", scheme),
            ("networkLocation", networkLocation.map(String.init)),
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

    /// A table with one row for each part. Absent and empty parts look different.
    var table: Table {
        let rows = parts.map { [$0.name, $0.text.map { $0.isEmpty ? "\"\"" : $0 } ?? Table.absent] }
        return Table(rows: ([["url", description]] + rows).map { $0.map { Cell($0) } })
    }

    /// An object with the parts. The port is a number.
    var json: JSON {
        let members = parts.map { part in
            (name: part.name, value: part.text.map { part.name == "port" ? .literal($0) : .string($0) } ?? JSON.null)
        }
        return .object([("url", .string(description))] + members)
    }
}

extension GenericURL.ParseError {
    /// Returns the error as an object that contains the input, or only the input's beginning if it is too long.
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
