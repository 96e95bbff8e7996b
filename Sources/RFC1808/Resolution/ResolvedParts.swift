/// From which of two URLs, the base and the reference, each part of the resolved one is taken.
struct ResolvedParts {
    enum Origin {
        case base
        case reference
    }

    enum DotSegments {
        case kept
        /// A `..` with nothing before it to take away stays (RFC 1808 step 6c) or goes (RFC 3986 section 5.2.4).
        case removed(keepingSurplus: Bool)
    }

    var scheme = Origin.base
    var networkLocation: Origin?
    /// The base's path up to its last slash, where the reference's path follows it.
    var directory = 0..<0
    /// The base has a network location, but no path: the result's path starts with a slash that neither has.
    var startsAtRoot = false
    var path = Origin.reference
    var pathRange: Range<Int>
    var dotSegments = DotSegments.kept
    /// The parameters, if any, are in ``pathRange``; else they are the reference's.
    var pathHoldsParameters = false
    /// Only with ``pathHoldsParameters`` that of the base; the fragment is always the reference's.
    var query = Origin.reference
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
        pathRange = reference.path

        // Step 3.
        if let location = reference.networkLocation {
            networkLocation = .reference
            guard location.isEmpty else { return }
        }
        if base.hasNetworkLocation { networkLocation = .base }

        let basePath = base.pathWithoutParameters(in: baseBytes)
        if pathRange.isEmpty {
            // Step 5.
            path = .base
            pathRange = basePath
            guard reference.parameters == nil else { return }
            pathRange = base.pathStart..<base.parametersEnd
            pathHoldsParameters = true
            if reference.query == nil { query = .base }
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
    /// The path, of an opaque part that up to its first `;`: to RFC 1808, `foo:a;b` is the path `a` with parameters.
    fileprivate func pathWithoutParameters(in bytes: Span<UInt8>) -> Range<Int> {
        guard isOpaque else { return path }
        return pathStart..<(path.first { bytes[$0] == UInt8(ascii: ";") } ?? pathEnd)
    }
}
