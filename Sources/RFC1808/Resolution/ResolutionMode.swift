extension GenericURL {
    /// The algorithm that resolves a reference against a base.
    public enum ResolutionMode: String, Sendable, CaseIterable {
        /// RFC 1808 section 4: a surplus `..` stays (`/../g`), the dot segments of an absolute path stay, and parameters
        /// are a component of their own (decision D3). This is what `NSURL` did.
        case rfc1808
        /// RFC 3986 section 5.2: surplus `..` are dropped, dot segments are removed from every path, and parameters are
        /// part of the path.
        ///
        /// Where that RFC speaks of a base without a hierarchy only, this library stays on the safe side: an opaque
        /// reference is not changed, and a path without a leading slash does not gain one.
        case rfc3986
    }
}
