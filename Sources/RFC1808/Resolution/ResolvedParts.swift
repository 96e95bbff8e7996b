/// The origin of each part of a resolved URL: the base or the reference.
struct ResolvedParts {
    enum Origin {
        case base
        case reference
    }

    enum DotSegments {
        case kept
        /// Dot segments are removed. A `..` that no segment precedes is kept (RFC 1808 section 4, step 6c) or dropped
        /// (RFC 3986 section 5.2.4).
        case removed(keepingSurplus: Bool)
    }

    var scheme = Origin.base
    var networkLocation: Origin?
    /// The base's path up to its last slash, if the reference's path follows it; otherwise empty.
    var directory = 0..<0
    /// Whether the result's path starts with a slash that neither URL has, because the base has a network location but
    /// no path.
    var startsAtRoot = false
    var path = Origin.reference
    var pathRange: Range<Int>
    var dotSegments = DotSegments.kept
    /// Whether ``pathRange`` includes the parameters. If not, the parameters, if any, are the reference's.
    var pathHoldsParameters = false
    /// The origin of the query, which can be the base only with ``pathHoldsParameters``. The fragment always comes from
    /// the reference.
    var query = Origin.reference
}

extension ResolvedParts {
    /// Applies RFC 1808 section 4 to a reference without a scheme.
    ///
    /// The result inherits a component from the base if it is absent, but not if it is empty (decision D2). The network
    /// location is the exception: it is inherited if it is absent or empty (decision D8).
    init(
        rfc1808 reference: Layout,
        _ bytes: Span<UInt8>,
        against base: Layout,
        _ baseBytes: Span<UInt8>
    ) {
        pathRange = reference.pathOrOpaquePart

        // Step 3: a reference with a network location inherits only the scheme, unless the location is empty.
        if let location = reference.networkLocation {
            networkLocation = .reference
            guard location.isEmpty else { return }
        }
        if base.hasNetworkLocation { networkLocation = .base }

        let basePath = base.pathWithoutParameters(in: baseBytes)
        if pathRange.isEmpty {
            // Step 5: an empty path inherits the base's path, then its parameters, then its query.
            path = .base
            pathRange = basePath
            guard reference.parameters == nil else { return }
            pathRange = base.pathStart..<base.parametersEnd
            pathHoldsParameters = true
            if reference.query == nil { query = .base }
        } else if bytes[reference.pathStart] != UInt8(ascii: "/") {
            // Step 6: a relative path follows the base's path. According to step 4, an absolute path stays as it is.
            merge(base, basePath, baseBytes, keepingSurplus: true)
        }
    }

    /// Applies RFC 3986 section 5.2.2, with the parameters as part of the path.
    init(
        rfc3986 reference: Layout,
        _ bytes: Span<UInt8>,
        against base: Layout,
        _ baseBytes: Span<UInt8>
    ) {
        pathHoldsParameters = true
        pathRange = reference.pathStart..<reference.parametersEnd
        dotSegments = .removed(keepingSurplus: false)
        if reference.hasNetworkLocation { networkLocation = .reference }
        if reference.schemeEnd > 0 { scheme = .reference }
        guard networkLocation == nil, scheme == .base else { return }

        if base.hasNetworkLocation { networkLocation = .base }
        let basePath = base.pathStart..<base.parametersEnd
        if pathRange.isEmpty {
            path = .base
            pathRange = basePath
            dotSegments = .kept
            if reference.query == nil { query = .base }
        } else if bytes[reference.pathStart] != UInt8(ascii: "/") {
            merge(base, basePath, baseBytes, keepingSurplus: false)
        }
    }

    /// Puts the reference's path after the base's path up to its last slash.
    private mutating func merge(_ base: Layout, _ basePath: Range<Int>, _ bytes: Span<UInt8>, keepingSurplus: Bool) {
        dotSegments = .removed(keepingSurplus: keepingSurplus)
        var end = basePath.upperBound
        while end > basePath.lowerBound, bytes[end - 1] != UInt8(ascii: "/") { end -= 1 }
        directory = basePath.lowerBound..<end
        startsAtRoot = basePath.isEmpty && base.hasNetworkLocation
    }
}

extension Layout {
    /// The path without its parameters; in an opaque part, the text before the first `;`.
    ///
    /// RFC 1808 has no opaque part, so it reads `foo:a;b` as the path `a` with parameters.
    fileprivate func pathWithoutParameters(in bytes: Span<UInt8>) -> Range<Int> {
        guard isOpaque else { return path }
        return pathStart..<(pathOrOpaquePart.first { bytes[$0] == UInt8(ascii: ";") } ?? pathEnd)
    }
}
