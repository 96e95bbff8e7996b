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

    /// An item of a query, `name=value` or only `name`.
    public struct QueryItem: Sendable, Hashable {
        /// What precedes the first `=`.
        public let name: EscapedText
        /// What follows it: `nil` without an `=`, empty if nothing follows.
        public let value: EscapedText?
    }

    /// The items of a query, in order; counting and indexing take as long as the query is.
    public struct QueryItems: Collection, Sendable {
        let pieces: Pieces

        /// Where the first item starts.
        public var startIndex: PieceIndex { pieces.startIndex }

        /// The position past the last item.
        public var endIndex: PieceIndex { pieces.endIndex }

        /// The item that starts at a position.
        public subscript(position: PieceIndex) -> QueryItem {
            let (name, value) = pieces[position].split(atFirst: UInt8(ascii: "="))
            return QueryItem(name: EscapedText(raw: name), value: value.map(EscapedText.init))
        }

        /// Where the item after the one at a position starts.
        public func index(after position: PieceIndex) -> PieceIndex { pieces.index(after: position) }

        /// The first item whose decoded name is `name`, byte for byte.
        public func first(named name: String) -> QueryItem? {
            first { $0.name.decodedBytes().elementsEqual(name.utf8) }
        }
    }
}
