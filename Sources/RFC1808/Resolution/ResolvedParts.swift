/// What a resolved URL is put together from: ranges of the bytes of the base and of the reference.
struct ResolvedParts {
    enum Origin {
        case base
        case reference
    }

    struct Part {
        let origin: Origin
        let range: Range<Int>

        init?(_ origin: Origin, _ range: Range<Int>?) {
            guard let range else { return nil }
            self.origin = origin
            self.range = range
        }
    }

    enum DotSegments {
        case kept
        /// A `..` with nothing before it to take away stays (RFC 1808 step 6c) or goes (RFC 3986 section 5.2.4).
        case removed(keepingSurplus: Bool)
    }

    var scheme: Part?
    var networkLocation: Part?
    /// The base's path up to its last slash, where ``path`` follows it.
    var directory = 0..<0
    /// The base has a network location, but no path: the result's path starts with a slash that neither has.
    var startsAtRoot = false
    var path: Part?
    var dotSegments = DotSegments.kept
    /// The path is that of RFC 3986, of which parameters are a part.
    var pathHoldsParameters = false
    var parameters: Part?
    var query: Part?
    var fragment: Part?
}

extension ResolvedParts {
    /// RFC 1808 section 4, for a reference without a scheme.
    ///
    /// An absent component inherits, an empty one does not (decision D2), but for the network location, which inherits
    /// in both cases (decision D8).
    init(
        rfc1808 reference: Layout,
        _ bytes: Span<UInt8>,
        against base: Layout,
        _ baseBytes: Span<UInt8>
    ) {
        scheme = Part(.base, base.scheme)
        path = Part(.reference, reference.path)
        parameters = Part(.reference, reference.parameters)
        query = Part(.reference, reference.query)
        fragment = Part(.reference, reference.fragment(in: bytes.count))

        // Step 3.
        networkLocation = Part(.reference, reference.networkLocation)
        if let own = networkLocation, !own.range.isEmpty { return }
        networkLocation = Part(.base, base.networkLocation) ?? networkLocation

        let (basePath, baseParameters) = base.pathAndParameters(of: baseBytes)
        if reference.path.isEmpty {
            // Step 5.
            path = Part(.base, basePath)
            guard parameters == nil else { return }
            parameters = Part(.base, baseParameters)
            query = query ?? Part(.base, base.query)
        } else if bytes[reference.pathStart] != UInt8(ascii: "/") {
            // Step 6; by step 4, an absolute path stays as it is.
            merge(base, basePath, baseBytes, keepingSurplus: true)
        }
    }

    /// RFC 3986 section 5.2.2, with the parameters as part of the path.
    init(
        rfc3986 reference: Layout,
        _ bytes: Span<UInt8>,
        against base: Layout,
        _ baseBytes: Span<UInt8>
    ) {
        pathHoldsParameters = true
        dotSegments = .removed(keepingSurplus: false)
        scheme = Part(.reference, reference.scheme) ?? Part(.base, base.scheme)
        networkLocation = Part(.reference, reference.networkLocation)
        let ownPath = reference.pathStart..<reference.parametersEnd
        path = Part(.reference, ownPath)
        query = Part(.reference, reference.query)
        fragment = Part(.reference, reference.fragment(in: bytes.count))
        guard reference.scheme == nil, networkLocation == nil else { return }

        networkLocation = Part(.base, base.networkLocation)
        let basePath = base.pathStart..<base.parametersEnd
        if ownPath.isEmpty {
            path = Part(.base, basePath)
            dotSegments = .kept
            query = query ?? Part(.base, base.query)
        } else if bytes[ownPath.lowerBound] != UInt8(ascii: "/") {
            merge(base, basePath, baseBytes, keepingSurplus: false)
        }
    }

    /// Puts the path behind all of the base's path up to its last slash.
    private mutating func merge(_ base: Layout, _ basePath: Range<Int>, _ bytes: Span<UInt8>, keepingSurplus: Bool) {
        dotSegments = .removed(keepingSurplus: keepingSurplus)
        var end = basePath.upperBound
        while end > basePath.lowerBound, bytes[end - 1] != UInt8(ascii: "/") { end -= 1 }
        directory = basePath.lowerBound..<end
        startsAtRoot = basePath.isEmpty && base.hasNetworkLocation
    }
}

extension Layout {
    fileprivate var scheme: Range<Int>? {
        schemeEnd == 0 ? nil : 0..<schemeEnd
    }

    /// The path and the parameters, those of an opaque part too: to RFC 1808 `foo:a;b` is the path `a` with parameters.
    fileprivate func pathAndParameters(of bytes: Span<UInt8>) -> (Range<Int>, Range<Int>?) {
        guard isOpaque else { return (path, parameters) }
        guard let semicolon = path.first(where: { bytes[$0] == UInt8(ascii: ";") }) else { return (path, nil) }
        return (pathStart..<semicolon, semicolon + 1..<pathEnd)
    }
}
