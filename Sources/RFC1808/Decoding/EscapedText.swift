extension GenericURL {
    /// A path segment, or a query item's name or value, decoded on demand.
    public struct EscapedText: Sendable, Hashable, CustomStringConvertible {
        /// The text as written, including its escapes.
        public let raw: Substring

        init(raw: Substring) {
            self.raw = raw
        }

        /// Escapes every byte that is not in `set`.
        init(escaping text: String, _ set: ByteSet) {
            var raw = ""
            raw.appendEscaped(text, set)
            self.raw = raw[...]
        }

        /// Returns the text with its escapes decoded once.
        ///
        /// The result can be any text. A path segment can decode to `..` or to text that contains a `/`, so do not use
        /// it as a file name. Characters that change the writing direction can make it look like a different text.
        ///
        /// - Throws: ``PercentDecodingError`` if the decoded bytes are not UTF-8 or contain a control character. Its
        ///   offset counts from the start of the URL, or from the start of this value if it was made from text.
        public func decoded() throws(PercentDecodingError) -> String {
            try raw.percentDecodedText()
        }

        /// Returns the bytes with the escapes decoded once.
        public func decodedBytes() -> [UInt8] {
            raw.percentDecodedBytes
        }

        /// The text as written, including its escapes.
        public var description: String { String(raw) }
    }
}

extension Substring {
    var startsWithSlash: Bool { utf8.first == UInt8(ascii: "/") }

    /// Returns the text before and after the first `separator`. If there is none, returns the whole text and `nil`.
    func split(atFirst separator: UInt8) -> (Substring, Substring?) {
        guard let index = utf8.firstIndex(of: separator) else { return (self, nil) }
        return (self[..<index], self[utf8.index(after: index)...])
    }
}
