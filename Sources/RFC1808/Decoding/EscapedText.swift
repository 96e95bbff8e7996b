extension GenericURL {
    /// A path segment, or the name or value of a query item, decoded on demand.
    public struct EscapedText: Sendable, Hashable, CustomStringConvertible {
        /// The piece as it was written, escapes included.
        public let raw: Substring

        init(raw: Substring) {
            self.raw = raw
        }

        /// Escapes all but the bytes of `set`.
        init(escaping text: String, _ set: ByteSet) {
            var raw = ""
            raw.appendEscaped(text, set)
            self.raw = raw[...]
        }

        /// The text with its escapes decoded once.
        ///
        /// It can be anything that is text: a path segment that decodes to `..` or to text with a `/` in it is no safe name of
        /// a file, and characters that turn the direction of writing can make what is shown to a person read as
        /// something else.
        ///
        /// - Throws: ``PercentDecodingError`` if it is not UTF-8 or holds a control character, with the offset in the URL that
        ///   the piece is of, or in the piece itself if it was made from text.
        public func decoded() throws(PercentDecodingError) -> String {
            try raw.percentDecodedText()
        }

        /// The bytes with the escapes decoded once.
        public func decodedBytes() -> [UInt8] {
            raw.percentDecodedBytes
        }

        /// The piece as it was written.
        public var description: String { String(raw) }
    }
}

extension Substring {
    var startsWithSlash: Bool { utf8.first == UInt8(ascii: "/") }

    /// What precedes the first `separator`, and what follows it; all and `nil` without one.
    func split(atFirst separator: UInt8) -> (Substring, Substring?) {
        guard let index = utf8.firstIndex(of: separator) else { return (self, nil) }
        return (self[..<index], self[utf8.index(after: index)...])
    }
}
