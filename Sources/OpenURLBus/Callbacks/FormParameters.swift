internal import ByteCoding
package import RFC1808

/// A URL's parameters in the form that OAuth uses: `application/x-www-form-urlencoded` (RFC 6749 appendix B), in the
/// query or in the fragment (RFC 6749 section 4.2.2).
package struct FormParameters: Sendable, Hashable {
    private let pairs: [(name: String, value: String)]

    /// Reads the parameters. A pair is left out if its escapes are not UTF-8, or if its text is too slow to compare.
    package init(_ url: GenericURL) {
        pairs = [url.query, url.fragment].compactMap(\.self).flatMap(Self.pairs)
    }

    /// Reads only the query's parameters.
    package init(queryOf url: GenericURL) {
        pairs = url.query.map(Self.pairs) ?? []
    }

    /// All values of each parameter, in order.
    package var values: [String: [String]] {
        Dictionary(pairs.map { ($0.name, [$0.value]) }, uniquingKeysWith: +)
    }

    /// Returns a parameter's value; nil if the parameter is missing, or has several different values.
    package subscript(name: String) -> String? {
        let values = Set(pairs.filter { $0.name == name }.map(\.value))
        return values.count == 1 ? values.first : nil
    }

    /// Parameters that have one value, by name.
    package var members: [(name: String, value: String)] {
        Set(pairs.map(\.name)).sorted().compactMap { name in self[name].map { (name: name, value: $0) } }
    }

    private static func pairs(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: "&").compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first.flatMap(decoded), let value = decoded(parts.dropFirst().first ?? "") else {
                return nil
            }
            return (name: name, value: value)
        }
    }

    /// Returns a name and a value as an element of a query.
    static func pair(_ name: String, _ value: String) -> String {
        "\(escaped(name))=\(escaped(value))"
    }

    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    private static func escaped(_ text: String) -> String {
        let bytes = text.utf8.map { byte in
            plain.contains(byte) ? String(UnicodeScalar(byte)) : byte.percentEscape
        }
        return bytes.joined()
    }

    /// Decodes a name or a value; nil if the bytes are not UTF-8, or if the text has too many combining marks in a row.
    static func decoded(_ text: Substring) -> String? {
        // There may be thousands of parameters.
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return String(text)
        }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            // In a URL, two digits follow each `%`.
            if byte == UInt8(ascii: "%"), let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self), !text.hasTooManyMarks else { return nil }
        return text
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.pairs.elementsEqual(right.pairs) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) {
        for pair in pairs {
            hasher.combine(pair.name)
            hasher.combine(pair.value)
        }
    }
}

extension GenericURL {
    /// Returns the URL with one value for a parameter in its query, in place of that parameter's values.
    ///
    /// - Throws: ``OpenURLError/Code/malformedURL`` if the URL cannot have the query.
    package func setting(_ name: String, to value: String) throws(OpenURLError) -> GenericURL {
        func isNamed(_ pair: String) -> Bool { FormParameters.decoded(pair.prefix { $0 != "=" }) == name }
        var pairs = (query ?? "").split(separator: "&").map(String.init)
        let position = pairs.firstIndex(where: isNamed) ?? pairs.count
        pairs.removeAll(where: isNamed)
        pairs.insert(FormParameters.pair(name, value), at: position)
        return try replacingQuery(with: pairs)
    }

    /// Returns the URL with a query made of these pairs, or without a query if there are none.
    ///
    /// - Throws: ``OpenURLError/Code/malformedURL`` if the URL cannot have the query.
    func replacingQuery(with pairs: [String]) throws(OpenURLError) -> GenericURL {
        do throws(ParseError) {
            return try replacing(.query, with: pairs.isEmpty ? nil : pairs.joined(separator: "&"))
        } catch {
            throw OpenURLError(.malformedURL, "the URL cannot take its parameters: \(error)")
        }
    }
}
