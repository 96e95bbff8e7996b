internal import Policy
internal import RFC1808
internal import SchemeRegistry
internal import UserFiles

/// A URL, as the rules see it.
struct Link {
    let url: GenericURL
    /// The scheme in lower case.
    let scheme: String
    /// The host in lower case, with its escapes decoded and without the dot that may end it; nil if there is none, or if
    /// a browser could see another host there.
    let host: String?
    /// The port, even if it is only implied by the scheme.
    let port: UInt16?
    /// The path and, if there is one, the query with its question mark.
    let target: [UInt8]
    /// The number of the path's bytes in ``target``.
    let pathLength: Int

    /// Splits a URL; nil if it has no scheme.
    init?(_ url: GenericURL) {
        guard let scheme = Scheme(of: url) else { return nil }
        self.url = url
        self.scheme = scheme.rawValue
        let parts = PolicyURL(url, scheme: scheme)
        let isUsable =
            parts.host.map { (1...HostPattern.maximumLength).contains($0.utf8.count) } == true && !parts.isHostInDoubt
        host = isUsable ? parts.host.map(asciiLowercased) : nil
        port = url.port ?? Self.impliedPorts[scheme.rawValue]
        var target: [UInt8] = []
        if let opaque = url.bytes.opaquePart {
            target += opaque
        } else {
            target += url.bytes.path
            // To a browser, the root is the same without its slash.
            if target.isEmpty { target.append(UInt8(ascii: "/")) }
            if let parameters = url.bytes.parameters { target += [UInt8(ascii: ";")] + parameters }
        }
        pathLength = target.count
        if let query = url.bytes.query { target += [UInt8(ascii: "?")] + query }
        self.target = target
    }

    private static let impliedPorts: [String: UInt16] = ["http": 80, "https": 443]

    /// Whether the URL is one of the web's.
    var isOfTheWeb: Bool { Self.isOfTheWeb(scheme) }

    static func isOfTheWeb(_ scheme: String) -> Bool { scheme == "http" || scheme == "https" }
}
