extension GenericURL {
    /// The URL that this reference means beside `base` (RFC 1808 section 4, or RFC 3986 section 5.2).
    ///
    /// The base may itself be relative or opaque; what it lacks, the result lacks. The result can be longer than the
    /// limit that either was parsed with. Parsing its text gives the same components; where the plain concatenation of
    /// the parts would mean something else, the path gets a prefix:
    ///
    /// - `..//evil/x` beside `todolist:/a/b` is `todolist:/.//evil/x`, not the host `evil`;
    /// - `;x` or `g` beside `http://a` gets a `/`, else it would be part of the host;
    /// - a relative result such as `b:c` gets `./`, else `b` would be a scheme; so does one with nothing left of its path.
    public func resolved(against base: GenericURL, mode: ResolutionMode = .rfc1808) -> GenericURL {
        if layout.schemeEnd > 0, mode == .rfc1808 || isOpaque { return self }
        let parts =
            switch mode {
            case .rfc1808: ResolvedParts(rfc1808: self, against: base)
            case .rfc3986: ResolvedParts(rfc3986: self, against: base)
            }
        return parts.url()
    }

    /// Parses a reference that may be empty and resolves it against this URL.
    ///
    /// The empty reference means this URL, with its fragment by RFC 1808 (decision D4) and without it by RFC 3986.
    ///
    /// - Throws: ``ParseError`` with the offset in the reference of the byte that is wrong.
    public func resolving(_ reference: String, mode: ResolutionMode = .rfc1808) throws(ParseError) -> GenericURL {
        guard reference.isEmpty else { return try GenericURL(reference).resolved(against: self, mode: mode) }
        // Without its fragment, `#top` would be the empty reference again.
        guard mode == .rfc3986, layout.queryEnd > 0 else { return self }
        return GenericURL(string: String(view(0..<layout.queryEnd)), layout: layout)
    }
}

extension ResolvedParts {
    /// RFC 1808 section 4, for a reference without a scheme. An absent component inherits, an empty one does not
    /// (decision D2), but for the network location, which inherits in both cases (decision D8).
    fileprivate init(rfc1808 reference: GenericURL, against base: GenericURL) {
        scheme = base.scheme
        path = reference.path
        parameters = reference.parameters
        query = reference.query
        fragment = reference.fragment

        // Step 3.
        if reference.networkLocation?.isEmpty == false {
            location = reference
            return
        }
        location = base.layout.hasNetworkLocation ? base : reference

        let (basePath, baseParameters) = base.hierarchicalPath
        if path.isEmpty {
            // Step 5.
            path = basePath
            guard parameters == nil else { return }
            parameters = baseParameters
            query = query ?? base.query
        } else if !path.utf8.startsWithSlash {
            // Step 6; step 4 leaves an absolute path as it is.
            merge(with: basePath, keepingSurplus: true)
        }
    }

    /// RFC 3986 section 5.2.2. Parameters stay in the path here.
    fileprivate init(rfc3986 reference: GenericURL, against base: GenericURL) {
        path = reference.view(reference.layout.pathStart..<reference.layout.parametersEnd)
        query = reference.query
        fragment = reference.fragment
        location = reference
        dotSegments = .removed(keepingSurplus: false)
        scheme = reference.scheme
        guard scheme == nil else { return }
        scheme = base.scheme
        guard !reference.layout.hasNetworkLocation else { return }
        location = base
        let basePath = base.view(base.layout.pathStart..<base.layout.parametersEnd)
        if path.isEmpty {
            path = basePath
            query = query ?? base.query
            dotSegments = .kept
        } else if !path.utf8.startsWithSlash {
            merge(with: basePath, keepingSurplus: false)
        }
    }

    /// Puts the path behind all of the base's path up to its last slash.
    private mutating func merge(with basePath: Substring, keepingSurplus: Bool) {
        dotSegments = .removed(keepingSurplus: keepingSurplus)
        if let slash = basePath.utf8.lastIndex(of: UInt8(ascii: "/")) {
            directory = basePath[...slash]
        } else if location?.layout.hasNetworkLocation == true {
            directory = "/"
        }
    }
}

extension GenericURL {
    /// The path and the parameters, those of an opaque part too: to RFC 1808 `foo:a;b` is the path `a` with parameters.
    fileprivate var hierarchicalPath: (path: Substring, parameters: Substring?) {
        guard let opaquePart else { return (path, parameters) }
        guard let semicolon = opaquePart.utf8.firstIndex(of: UInt8(ascii: ";")) else { return (opaquePart, nil) }
        return (opaquePart[..<semicolon], opaquePart[semicolon...].dropFirst())
    }
}

extension Substring.UTF8View {
    var startsWithSlash: Bool { first == UInt8(ascii: "/") }
}
