public import RFC1808

extension Registry {
    /// The handler that gets a URL, or `nil` if nobody claims it; a relative reference is claimed by nobody.
    ///
    /// The host counts as it is written: `%61cme.com` is not `acme.com`.
    public func handler(for url: GenericURL) -> Handler? {
        Scheme(of: url).flatMap { handler(for: $0, host: url.host.map(String.init)) }
    }

    /// Every handler that could have a URL, as ``candidates(for:host:asking:)`` gives them.
    public func candidates(for url: GenericURL) -> [Candidate] {
        Scheme(of: url).map { candidates(for: $0, host: url.host.map(String.init)) } ?? []
    }
}

extension Scheme {
    /// The scheme of a URL; `nil` if it has none, or one that is too long for a handler to claim.
    public init?(of url: GenericURL) {
        guard let scheme = url.scheme, scheme.utf8.count <= Self.maximumLength else { return nil }
        do {
            try self.init(scheme)
        } catch {
            // The parser and the registry agree on the grammar of a scheme.
            return nil
        }
    }
}
