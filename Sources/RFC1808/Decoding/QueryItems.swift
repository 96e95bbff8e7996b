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
        QueryItems(query: query)
    }

    /// An item of a query, `name=value` or only `name`.
    public struct QueryItem: Sendable, Hashable {
        /// What precedes the first `=`.
        public let name: EscapedText
        /// What follows it: `nil` without an `=`, empty if nothing follows.
        public let value: EscapedText?
    }

    /// The items of a query, in order.
    public struct QueryItems: Sequence, Sendable {
        let query: Substring?

        /// Starts at the first item.
        public func makeIterator() -> Iterator {
            Iterator(pieces: Pieces(of: query, separatedBy: "&"))
        }

        /// The first item whose decoded name is `name`, byte for byte.
        public func first(named name: String) -> QueryItem? {
            first { $0.name.decodedBytes().elementsEqual(name.utf8) }
        }

        /// Splits off one item at a time.
        public struct Iterator: IteratorProtocol, Sendable {
            var pieces: Pieces

            /// The next item.
            public mutating func next() -> QueryItem? {
                guard let (name, value) = pieces.next()?.split(atFirst: UInt8(ascii: "=")) else { return nil }
                return QueryItem(name: EscapedText(raw: name), value: value.map(EscapedText.init))
            }
        }
    }
}
