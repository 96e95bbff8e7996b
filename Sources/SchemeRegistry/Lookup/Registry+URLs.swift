public import RFC1808

extension Registry {
    /// Returns the handler that gets a URL; `nil` if none claims it. No handler claims a relative reference.
    ///
    /// The host is compared as written: `%61cme.com` is not `acme.com`.
    public func handler(for url: GenericURL) -> Handler? {
        Scheme(of: url).flatMap { handler(for: $0, host: url.host.map(String.init)) }
    }

    /// Returns every candidate for a URL, as ``candidates(for:host:asking:)`` does.
    public func candidates(for url: GenericURL) -> [Candidate] {
        Scheme(of: url).map { candidates(for: $0, host: url.host.map(String.init)) } ?? []
    }
}

extension Scheme {
    /// Creates a URL's scheme; `nil` if the URL has none, or one that is too long for a claim.
    public init?(of url: GenericURL) {
        // The parser has checked it, and uses the same grammar.
        guard let scheme = url.lowercasedScheme, scheme.utf8.count <= Self.maximumLength else { return nil }
        self.init(checked: scheme)
    }
}
