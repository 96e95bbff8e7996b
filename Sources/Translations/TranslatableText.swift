/// A text for people: an English text and the values in it.
///
/// Write it as a literal with interpolations. In the catalogues, the English text is the key, and its values are
/// `%1$s`, `%2$s` and so on, so that a translation may have them in another order.
package struct TranslatableText: Hashable, Sendable, ExpressibleByStringInterpolation {
    /// The text in English.
    package let english: String
    /// The text in the catalogues. If the text has values, `%%` stands for a percent sign.
    package let key: String
    /// The values, in order.
    package let values: [String]

    package init(stringLiteral text: String) {
        (english, key, values) = (text, text, [])
    }

    package init(stringInterpolation text: StringInterpolation) {
        english = text.english
        key = text.values.isEmpty ? text.english : text.key
        values = text.values
    }

    /// The pieces of a text.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var english = ""
        fileprivate var key = ""
        fileprivate var values: [String] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) {
            english += literal
            key += literal.replacing("%", with: "%%")
        }

        package mutating func appendInterpolation(_ value: some Any) {
            let value = "\(value)"
            values.append(value)
            english += value
            key += "%\(values.count)$s"
        }
    }

    /// Returns a translation of the text with the text's values.
    ///
    /// A translation cannot do harm: a number without a value stays as it is, and so does anything else that looks like
    /// a format.
    func filling(_ translation: String) -> String {
        guard !values.isEmpty else { return translation }
        var filled = ""
        var rest = translation[...]
        while let mark = rest.firstIndex(of: "%") {
            filled += rest[..<mark]
            rest = rest[mark...].dropFirst()
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            if rest.first == "%" {
                filled += "%"
                rest = rest.dropFirst()
            } else if rest[digits.endIndex...].hasPrefix("$s"), let number = Int(digits),
                values.indices.contains(number - 1)
            {
                filled += values[number - 1]
                rest = rest[digits.endIndex...].dropFirst(2)
            } else {
                filled += "%"
            }
        }
        return filled + rest
    }
}
