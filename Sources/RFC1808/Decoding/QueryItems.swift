extension GenericURL {
    /// The query's items, each found on demand.
    ///
    /// The query is split at each `&`, and each item at its first `=`. Only then are escapes decoded, on demand. If
    /// there is no query, there are no items. An empty query has one item with an empty name, and so is the empty text
    /// within `&&`: no item is dropped.
    ///
    /// ```swift
    /// let title = try url.queryItems.first(named: "title")?.value?.decoded()
    /// ```
    public var queryItems: QueryItems {
        QueryItems(pieces: Pieces(of: query, separatedBy: "&"))
    }

    /// An item in a query, `name=value` or only `name`, with its escapes.
    ///
    /// If it comes from a URL, it stays exactly as written.
    public struct QueryItem: Sendable, Hashable, CustomStringConvertible {
        /// The text before the first `=`.
        public let name: EscapedText
        /// The text after the first `=`. It is `nil` without an `=`, and empty if nothing follows.
        public let value: EscapedText?

        /// Creates an item from plain text, which it escapes once.
        ///
        /// It escapes every byte that could end the name or the value, and also `+`, which other programs read as a
        /// space.
        public init(name: String, value: String? = nil) {
            self.name = EscapedText(escaping: name, .queryName)
            self.value = value.map { EscapedText(escaping: $0, .queryValue) }
        }

        init(raw: Substring) {
            let (name, value) = raw.split(atFirst: UInt8(ascii: "="))
            self.name = EscapedText(raw: name)
            self.value = value.map(EscapedText.init(raw:))
        }

        /// The item as it appears in a query.
        public var description: String { name.raw + (value.map { "=" + $0.raw } ?? "") }
    }

    /// The items of a query, in order.
    ///
    /// They are not stored. Counting them, or moving an index over the whole query, takes time linear in its length.
    public struct QueryItems: BidirectionalCollection, Sendable, CustomStringConvertible {
        let pieces: Pieces

        /// The position of the first item.
        public var startIndex: Index { Index(piece: pieces.startIndex) }

        /// The position after the last item.
        public var endIndex: Index { Index(piece: pieces.endIndex) }

        /// Returns the item at a position.
        public subscript(position: Index) -> QueryItem { QueryItem(raw: pieces[position.piece]) }

        /// Returns the position of the next item.
        public func index(after position: Index) -> Index { Index(piece: pieces.index(after: position.piece)) }

        /// Returns the position of the previous item.
        public func index(before position: Index) -> Index { Index(piece: pieces.index(before: position.piece)) }

        /// The items as written, formatted like an array.
        public var description: String { pieces.description }

        /// Returns the first item whose decoded name has the same bytes as `name`.
        public func first(named name: String) -> QueryItem? {
            first { $0.name.decodedBytes().elementsEqual(name.utf8) }
        }

        /// The position of an item.
        public struct Index: Comparable, Hashable, Sendable {
            let piece: Pieces.Index

            /// Returns whether `a` comes before `b`.
            public static func < (a: Index, b: Index) -> Bool { a.piece < b.piece }
        }
    }
}
