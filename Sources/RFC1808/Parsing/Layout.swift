/// The positions of the components in a URL's bytes.
///
/// Only boundaries are stored. If there is room for a component's separator between two boundaries, the component is
/// present, because every separator takes at least one byte.
@usableFromInline
struct Layout: Sendable {
    /// The offset of the colon after the scheme, which is never empty; 0 if there is no scheme.
    @usableFromInline var schemeEnd = 0
    /// The end of the user name. A password follows unless the `@` before the host is at this offset.
    @usableFromInline var userEnd = 0
    /// The start of the host, even if the host is empty; 0 if there is no network location. A host never starts at 0,
    /// because `//` precedes every network location.
    @usableFromInline var hostStart = 0
    @usableFromInline var hostEnd = 0
    /// The end of the network location, and the start of the path or opaque part.
    @usableFromInline var pathStart = 0
    /// The end of the path or opaque part, and the offset of the `;` of any parameters.
    @usableFromInline var pathEnd = 0
    /// The end of the parameters, and the offset of the `?` of any query.
    @usableFromInline var parametersEnd = 0
    /// The end of the query, and the offset of the `#` of any fragment.
    @usableFromInline var queryEnd = 0
    @usableFromInline var port: UInt16?
    /// Whether the URL has a scheme, but no network location and no leading slash (decision D7).
    @usableFromInline var isOpaque = false

    /// The offset of the first byte after `scheme:`.
    @inlinable @inline(__always)
    var hierarchyStart: Int { schemeEnd == 0 ? 0 : schemeEnd + 1 }

    @inlinable @inline(__always)
    var scheme: Range<Int>? { schemeEnd == 0 ? nil : 0..<schemeEnd }

    @inlinable @inline(__always)
    var hasNetworkLocation: Bool { hostStart > 0 }

    @inlinable @inline(__always)
    var networkLocation: Range<Int>? {
        hasNetworkLocation ? hierarchyStart + 2..<pathStart : nil
    }

    @inlinable @inline(__always)
    var user: Range<Int>? {
        guard let location = networkLocation, hostStart > location.lowerBound else { return nil }
        return location.lowerBound..<userEnd
    }

    @inlinable @inline(__always)
    var password: Range<Int>? {
        guard user != nil, userEnd < hostStart - 1 else { return nil }
        return userEnd + 1..<hostStart - 1
    }

    @inlinable @inline(__always)
    var host: Range<Int>? {
        guard let location = networkLocation, !location.isEmpty else { return nil }
        return hostStart..<hostEnd
    }

    @inlinable @inline(__always)
    var pathOrOpaquePart: Range<Int> { pathStart..<pathEnd }

    /// The path; empty in an opaque URL.
    @inlinable @inline(__always)
    var path: Range<Int> { isOpaque ? pathEnd..<pathEnd : pathOrOpaquePart }

    @inlinable @inline(__always)
    var opaquePart: Range<Int>? { isOpaque ? pathOrOpaquePart : nil }

    @inlinable @inline(__always)
    var parameters: Range<Int>? {
        pathEnd < parametersEnd ? pathEnd + 1..<parametersEnd : nil
    }

    @inlinable @inline(__always)
    var query: Range<Int>? {
        parametersEnd < queryEnd ? parametersEnd + 1..<queryEnd : nil
    }

    @inlinable @inline(__always)
    func fragment(in count: Int) -> Range<Int>? {
        queryEnd < count ? queryEnd + 1..<count : nil
    }
}
