extension GenericURL {
    /// The items of the query, found one by one: split at `&`, then at the first `=`, then decoded.
    ///
    /// Without a query there are none. An empty query has one item with an empty name, as has the place between the two
    /// of `&&`; nothing is dropped.
    ///
    /// ```swift
    /// let title = try url.queryItems.first(named: "title")?.value?.decoded()
    /// ```
    public var queryItems: QueryItems {
        QueryItems(pieces: Pieces(of: query, separatedBy: "&"))
    }

    /// An item of a query, `name=value` or only `name`, escaped: one of a URL is as it was written there.
    public struct QueryItem: Sendable, Hashable, CustomStringConvertible {
        /// What precedes the first `=`.
        public let name: EscapedText
        /// What follows it: `nil` without an `=`, empty if nothing follows.
        public let value: EscapedText?

        /// An item of text, which is escaped once: all that could end the name or the value, and a `+`, which others read as
        /// a space.
        public init(name: String, value: String? = nil) {
            self.name = EscapedText(escaping: name, .queryName)
            self.value = value.map { EscapedText(escaping: $0, .queryValue) }
        }

        init(raw: Substring) {
            let (name, value) = raw.split(atFirst: UInt8(ascii: "="))
            self.name = EscapedText(raw: name)
            self.value = value.map(EscapedText.init(raw:))
        }

        /// The item as it stands in a query.
        public var description: String { name.raw + (value.map { "=" + $0.raw } ?? "") }
    }

    /// The items of a query, in order; counting and indexing take as long as the query is.
    public struct QueryItems: BidirectionalCollection, Sendable, CustomStringConvertible {
        let pieces: Pieces

        /// Where the first item starts.
        public var startIndex: Index { Index(piece: pieces.startIndex) }

        /// The position past the last item.
        public var endIndex: Index { Index(piece: pieces.endIndex) }

        /// The item that starts at a position.
        public subscript(position: Index) -> QueryItem { QueryItem(raw: pieces[position.piece]) }

        /// Where the item after the one at a position starts.
        public func index(after position: Index) -> Index { Index(piece: pieces.index(after: position.piece)) }

        /// Where the item before the one at a position starts.
        public func index(before position: Index) -> Index { Index(piece: pieces.index(before: position.piece)) }

        /// The items as they were written, in the form of an array.
        public var description: String { pieces.description }

        /// The first item whose decoded name is `name`, byte for byte.
        public func first(named name: String) -> QueryItem? {
            first { $0.name.decodedBytes().elementsEqual(name.utf8) }
        }

        /// Where an item starts.
        public struct Index: Comparable, Hashable, Sendable {
            let piece: Pieces.Index

            /// Whether `a` comes before `b`.
            public static func < (a: Index, b: Index) -> Bool { a.piece < b.piece }
        }
    }
}
