/// Where each component lies in the bytes of a URL.
///
/// Only boundaries are stored: which components are present follows from the separators between them, since each takes
/// at least one byte.
struct Layout: Sendable {
    /// The offset of the colon after the scheme; 0 without a scheme, which is never empty.
    var schemeEnd = 0
    /// The end of the user name; the password follows if this is not where the host's `@` stands.
    var userEnd = 0
    /// Where the host is or would be; 0 without a network location, before which two slashes stand.
    var hostStart = 0
    var hostEnd = 0
    /// The end of the network location, and the start of the path or opaque part.
    var pathStart = 0
    /// The end of the path or opaque part; the `;` of parameters stands here.
    var pathEnd = 0
    /// The end of the parameters; the `?` of a query stands here.
    var parametersEnd = 0
    /// The end of the query; the `#` of a fragment stands here.
    var queryEnd = 0
    var port: UInt16?
    /// There is a scheme, no network location and no leading slash (decision D7).
    var isOpaque = false

    /// The first byte after `scheme:`.
    var hierarchyStart: Int { schemeEnd == 0 ? 0 : schemeEnd + 1 }

    var hasNetworkLocation: Bool { hostStart > 0 }

    var networkLocation: Range<Int>? {
        hasNetworkLocation ? hierarchyStart + 2..<pathStart : nil
    }

    var user: Range<Int>? {
        guard let location = networkLocation, hostStart > location.lowerBound else { return nil }
        return location.lowerBound..<userEnd
    }

    var password: Range<Int>? {
        guard user != nil, userEnd < hostStart - 1 else { return nil }
        return userEnd + 1..<hostStart - 1
    }

    var host: Range<Int>? {
        guard let location = networkLocation, !location.isEmpty else { return nil }
        return hostStart..<hostEnd
    }

    var path: Range<Int> { pathStart..<pathEnd }

    var parameters: Range<Int>? {
        pathEnd < parametersEnd ? pathEnd + 1..<parametersEnd : nil
    }

    var query: Range<Int>? {
        parametersEnd < queryEnd ? parametersEnd + 1..<queryEnd : nil
    }

    func fragment(in count: Int) -> Range<Int>? {
        queryEnd < count ? queryEnd + 1..<count : nil
    }
}
