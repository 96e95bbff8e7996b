extension GenericURL {
    /// The algorithm that resolves a reference against a base.
    public enum ResolutionMode: String, Sendable, CaseIterable {
        /// The algorithm of RFC 1808 section 4, which `NSURL` used (decision D3).
        ///
        /// A surplus `..` is kept, as in `/../g`, and so are an absolute path's dot segments. Parameters are a separate
        /// component.
        case rfc1808
        /// The algorithm of RFC 3986 section 5.2.
        ///
        /// A surplus `..` is dropped, and dot segments are removed from every path. Parameters are part of the path.
        ///
        /// The RFC defines resolution only for a base with a hierarchy. For other URLs, this library changes as little
        /// as possible: an opaque reference stays unchanged, and a path without a leading slash does not get one.
        case rfc3986
    }
}
