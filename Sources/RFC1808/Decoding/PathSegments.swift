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
    public struct PathSegments: Collection, Sendable {
        let pieces: Pieces

        /// Where the first segment starts.
        public var startIndex: PieceIndex { pieces.startIndex }

        /// The position past the last segment.
        public var endIndex: PieceIndex { pieces.endIndex }

        /// The segment that starts at a position.
        public subscript(position: PieceIndex) -> EscapedText { EscapedText(raw: pieces[position]) }

        /// Where the segment after the one at a position starts.
        public func index(after position: PieceIndex) -> PieceIndex { pieces.index(after: position) }
    }
}
