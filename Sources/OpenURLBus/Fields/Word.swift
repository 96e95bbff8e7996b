package import DBus

/// A value that is one word from a list, such as `launched`.
package protocol Word: FieldValue, RawRepresentable where RawValue == String {
    /// Returns the error's message for a word that is not in the list. ``Reported`` accepts every word and has no such
    /// error.
    static func problem(with word: String) -> String
}

extension Word where Self: CaseIterable {
    package static var words: [String] { allCases.map(\.rawValue) }
}

extension Word {
    package static func problem(with word: String) -> String { "'\(word)' is not a known word" }

    package init?(value: Value) throws(MessageDecodingError) {
        guard case .string(let word) = value else { return nil }
        try self.init(word: word)
    }

    private init(word: String) throws(MessageDecodingError) {
        guard let value = Self(rawValue: word) else { throw .invalidValue(Self.problem(with: word)) }
        self = value
    }

    package func appendEntry(_ key: EntryKey, to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendEntry(key, rawValue)
    }

    package var content: FieldContent { .value(.string(rawValue)) }

    /// `s`
    public static var signature: Signature { String.signature }

    /// Reads the word.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        try self.init(word: try reader.readString())
    }

    /// Appends the word.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.append(rawValue)
    }
}
