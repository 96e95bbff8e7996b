extension GenericURL {
    /// The segments of the path, found one by one.
    ///
    /// The leading slash of an absolute path opens the first segment and is none itself: `/a/b` and `a/b` have the
    /// segments `a` and `b`, `/a/` has `a` and an empty one, `/` has an empty one, and an empty path has none.
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

    /// The segments of a path, in order; counting and indexing take as long as the path is.
    public struct PathSegments: BidirectionalCollection, Sendable, CustomStringConvertible {
        let pieces: Pieces

        /// Where the first segment starts.
        public var startIndex: Index { Index(piece: pieces.startIndex) }

        /// The position past the last segment.
        public var endIndex: Index { Index(piece: pieces.endIndex) }

        /// The segment that starts at a position.
        public subscript(position: Index) -> EscapedText { EscapedText(raw: pieces[position.piece]) }

        /// Where the segment after the one at a position starts.
        public func index(after position: Index) -> Index { Index(piece: pieces.index(after: position.piece)) }

        /// Where the segment before the one at a position starts.
        public func index(before position: Index) -> Index { Index(piece: pieces.index(before: position.piece)) }

        /// The segments as they were written, in the form of an array.
        public var description: String { pieces.description }

        /// Where a segment starts.
        public struct Index: Comparable, Hashable, Sendable {
            let piece: Pieces.Index

            /// Whether `a` comes before `b`.
            public static func < (a: Index, b: Index) -> Bool { a.piece < b.piece }
        }
    }
}
