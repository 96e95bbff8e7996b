package import DBus
package import RFC1808
package import Reactor

/// Text for people to read, which keeps its own words apart from what it quotes.
///
/// Its own words are those in literals, and also numbers, names on the bus, and the unquoted words in other values of
/// this type. Everything else that is interpolated is a quotation. It may come from a URL or from another program, so
/// logs leave secrets out of it.
public struct QuotingText: Sendable, Hashable, CustomStringConvertible {
    /// The whole text, quotations included.
    public private(set) var description: String
    /// Ranges of the quotations, in bytes and in order. They do not matter when values are compared.
    private var quotations: [Range<Int>] = []

    /// Creates text that is a single quotation.
    public init(quoting text: String) {
        description = text
        if !text.isEmpty { quotations = [0..<text.utf8.count] }
    }

    private mutating func append(_ other: QuotingText) {
        let start = description.utf8.count
        description += other.description
        quotations += other.quotations.map { $0.lowerBound + start..<$0.upperBound + start }
    }

    /// Joins two values.
    public static func + (first: Self, second: Self) -> Self {
        var text = first
        text.append(second)
        return text
    }

    /// Appends another value to this one.
    public static func += (first: inout Self, second: Self) { first.append(second) }

    /// Returns the text, cut to at most this many bytes. If it was cut, it ends with an ellipsis.
    package func cut(toBytes limit: Int) -> Self {
        guard description.utf8.count > limit else { return self }
        var text = self
        text.description = description.cut(toBytes: limit)
        let count = text.description.utf8.count
        let kept = count - "…".utf8.count
        // If a quotation was cut, the ellipsis belongs to it.
        text.quotations = quotations.filter { $0.lowerBound < kept }.map {
            $0.lowerBound..<($0.upperBound > kept ? count : $0.upperBound)
        }
        return text
    }

    /// Returns the text with its quotations replaced.
    func replacingQuotations(_ replace: (String) -> String) -> Self {
        var text = QuotingText("")
        var end = description.startIndex
        var offset = 0
        for quotation in quotations {
            let start = description.utf8.index(end, offsetBy: quotation.lowerBound - offset)
            text.description += description[end..<start]
            end = description.utf8.index(start, offsetBy: quotation.count)
            offset = quotation.upperBound
            text.append(QuotingText(quoting: replace(String(description[start..<end]))))
        }
        text.description += description[end...]
        return text
    }

    /// Returns whether two values have the same characters, no matter which of them are quotations.
    public static func == (first: Self, second: Self) -> Bool { first.description == second.description }

    /// Hashes the characters.
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}

extension QuotingText: ExpressibleByStringInterpolation {
    /// Creates text that consists of its own words.
    public init(stringLiteral text: String) { description = text }

    /// Creates text that consists of its own words and of quotations.
    public init(stringInterpolation interpolation: StringInterpolation) { self = interpolation.text }

    /// Text while it is being built.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = QuotingText("")

        /// Begins an empty value.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Appends a literal to the text's own words.
        public mutating func appendLiteral(_ literal: String) { text.description += literal }

        /// Appends a quotation.
        public mutating func appendInterpolation<Quoted>(_ value: Quoted) {
            text.append(QuotingText(quoting: String(describing: value)))
        }

        /// Appends another value, with its own words and its quotations.
        public mutating func appendInterpolation(_ other: QuotingText) { text.append(other) }

        /// Appends an error, with the words and the quotations in its message.
        public mutating func appendInterpolation(_ error: OpenURLError) { text.append(error.text) }

        /// Appends a number to the text's own words.
        public mutating func appendInterpolation(_ number: some BinaryInteger) { appendLiteral("\(number)") }

        /// Appends a handler's name to the text's own words.
        package mutating func appendInterpolation(_ name: BusName) { appendLiteral(name.rawValue) }

        /// Appends why a string is not a URL. This shows at most one character of it.
        package mutating func appendInterpolation(_ error: GenericURL.ParseError) { appendLiteral(error.description) }

        /// Appends how a process ended to the text's own words.
        package mutating func appendInterpolation(_ exit: ProcessExit) { appendLiteral(exit.description) }
    }
}
