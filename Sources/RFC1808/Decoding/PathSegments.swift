extension GenericURL {
    /// The segments of the path, found one by one.
    ///
    /// The leading slash of an absolute path opens the first segment and is none itself: `/a/b` and `a/b` have the
    /// segments `a` and `b`, `/a/` has `a` and an empty one, `/` has an empty one, and an empty path has none.
    ///
    /// ```swift
    /// switch try url.pathSegments.map({ try $0.decoded() }) {
    /// case ["lists", let name]: …
    /// ```
    public var pathSegments: PathSegments {
        let path = path
        return PathSegments(path: path.startsWithSlash ? path.dropFirst() : path.isEmpty ? nil : path)
    }

    /// The segments of a path, in order.
    public struct PathSegments: Sequence, Sendable {
        let path: Substring?

        /// Starts at the first segment.
        public func makeIterator() -> Iterator {
            Iterator(pieces: Pieces(of: path, separatedBy: "/"))
        }

        /// Splits off one segment at a time.
        public struct Iterator: IteratorProtocol, Sendable {
            var pieces: Pieces

            /// The next segment.
            public mutating func next() -> EscapedText? {
                pieces.next().map(EscapedText.init)
            }
        }
    }
}
