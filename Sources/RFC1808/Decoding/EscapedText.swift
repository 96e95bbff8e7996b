extension GenericURL {
    /// A piece of a URL between two separators, decoded on demand.
    public struct EscapedText: Sendable, Hashable, CustomStringConvertible {
        /// The piece as it was written, escapes included.
        public let raw: Substring

        /// The text with its escapes decoded once.
        ///
        /// - Throws: ``PercentDecodingError`` if it is not UTF-8 or holds a control character.
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
