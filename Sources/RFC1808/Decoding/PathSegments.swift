extension GenericURL {
    /// The segments of the path, each found on demand.
    ///
    /// An absolute path's leading slash starts the first segment and is not a segment itself, so `/a/b` and `a/b` both
    /// have the segments `a` and `b`. `/a/` has `a` and an empty segment, `/` has one empty segment, and an empty path
    /// has none.
    ///
    /// ```swift
    /// switch try url.pathSegments.map({ try $0.decoded() }) {
    /// case ["lists"]: showLists()
    /// case let path where path.count == 2 && path[0] == "lists": showList(named: path[1])
    /// default: throw UnknownPath()
    /// }
    /// ```
    public var pathSegments: PathSegments {
        let path = path
        let segments = path.startsWithSlash ? path.dropFirst() : path.isEmpty ? nil : path
        return PathSegments(pieces: Pieces(of: segments, separatedBy: "/"))
    }

    /// The segments of a path, in order.
    ///
    /// They are not stored. Counting them, or moving an index over the whole path, takes time linear in its length.
    public struct PathSegments: BidirectionalCollection, Sendable, CustomStringConvertible {
        let pieces: Pieces

        /// The position of the first segment.
        public var startIndex: Index { Index(piece: pieces.startIndex) }

        /// The position after the last segment.
        public var endIndex: Index { Index(piece: pieces.endIndex) }

        /// Returns the segment at a position.
        public subscript(position: Index) -> EscapedText { EscapedText(raw: pieces[position.piece]) }

        /// Returns the position of the next segment.
        public func index(after position: Index) -> Index { Index(piece: pieces.index(after: position.piece)) }

        /// Returns the position of the previous segment.
        public func index(before position: Index) -> Index { Index(piece: pieces.index(before: position.piece)) }

        /// The segments as written, formatted like an array.
        public var description: String { pieces.description }

        /// The position of a segment.
        public struct Index: Comparable, Hashable, Sendable {
            let piece: Pieces.Index

            /// Returns whether `a` comes before `b`.
            public static func < (a: Index, b: Index) -> Bool { a.piece < b.piece }
        }
    }
}
