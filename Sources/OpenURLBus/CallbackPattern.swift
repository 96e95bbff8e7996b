public import RFC1808

/// The URLs that a program waits for as its callback: those of a scheme, of a host, or below a path.
///
/// | pattern | URLs |
/// |---|---|
/// | `myapp` or `myapp:` | every URL of the scheme |
/// | `myapp://auth` | the URLs of the scheme with this host |
/// | `myapp://auth/done`, `com.example.app:/done` | the URLs at the path and below it |
///
/// The scheme and the host are compared without case. A path ends at a `/`, so `/done` is not the beginning of `/donee`. A slash at
/// the end of the path, the query and the fragment have no meaning in a pattern.
public struct CallbackPattern: Sendable, Hashable, CustomStringConvertible {
    /// The scheme in lower case.
    public let scheme: String
    /// The host in lower case; nil for URLs without a host, and for every URL if the path is empty too.
    package let host: String?
    private let port: UInt16?
    /// The path without a slash at its end; empty for every path.
    private let path: String

    /// The largest size of a pattern, in bytes.
    public static let maximumBytes = 2048

    /// Creates the pattern for every URL of a scheme; nil if the text is not a scheme.
    public init?(scheme: String) {
        let others = Set("+-.".utf8)
        guard scheme.utf8.first?.isLetter == true,
            scheme.utf8.allSatisfy({ $0.isPathByte && $0 != UInt8(ascii: "_") || others.contains($0) })
        else { return nil }
        self.scheme = scheme.lowercased()
        host = nil
        port = nil
        path = ""
    }

    /// Reads a pattern.
    ///
    /// - Throws: ``OpenURLError/Code/malformedURL`` for a text of another form.
    public init(_ text: String) throws(OpenURLError) {
        if let whole = CallbackPattern(scheme: text) {
            self = whole
            return
        }
        let url: GenericURL
        do throws(GenericURL.ParseError) {
            url = try GenericURL(text, maximumLength: Self.maximumBytes)
        } catch {
            throw OpenURLError(.malformedURL, "the pattern of the callback is not the beginning of a URL: \(error)")
        }
        try self.init(url)
    }

    /// Reads the pattern of the URL that a sign-in server sends the browser to: the value of `redirect_uri` in the address of the
    /// sign-in page (RFC 6749 section 4.1.1).
    ///
    /// - Throws: ``OpenURLError/Code/malformedURL`` if there is no such value, or if the value is not a URL.
    public init(redirectOf url: GenericURL) throws(OpenURLError) {
        guard let text = FormParameters(url)["redirect_uri"] else {
            throw OpenURLError(
                .malformedURL,
                "the URL has no redirect_uri= that names the callback; give a pattern, such as myapp://auth"
            )
        }
        try self.init(text)
    }

    private init(_ url: GenericURL) throws(OpenURLError) {
        guard let scheme = url.lowercasedScheme, url.user == nil, url.parameters == nil, url.hasPlainPath else {
            throw OpenURLError(
                .malformedURL,
                "the pattern of the callback has to be a scheme, a host and a path, such as myapp://auth/done"
            )
        }
        self.scheme = scheme
        host = url.comparedHost
        port = url.port
        path = url.comparedPath
    }

    /// Returns whether the pattern is for a URL. A path with `.` or `..` in it may lead elsewhere, so only a pattern without a path
    /// is for such a URL.
    public func matches(_ url: GenericURL) -> Bool {
        guard url.lowercasedScheme == scheme else { return false }
        if host == nil, path.isEmpty { return true }
        guard url.comparedHost == host, url.port == port, url.user == nil else { return false }
        let other = url.comparedPath
        return path.isEmpty || url.hasPlainPath && (other == path || other.hasPrefix("\(path)/"))
    }

    /// Whether the pattern is for fewer URLs than another pattern, where both are for one URL.
    package func isNarrower(than other: CallbackPattern) -> Bool {
        (path.utf8.count, host == nil ? 0 : 1) > (other.path.utf8.count, other.host == nil ? 0 : 1)
    }

    /// The pattern as text.
    public var description: String {
        "\(scheme):\(host.map { "//\($0)\(port.map { ":\($0)" } ?? "")" } ?? "")\(path)"
    }
}

extension CallbackPattern {
    /// The schemes whose URLs no program can wait for: those of web pages, of scripts, and of files.
    package static let schemesOfBrowsers: Set = [
        "about", "blob", "data", "file", "ftp", "http", "https", "javascript", "view-source", "ws", "wss",
    ]

    /// Whether the URLs lead to this machine itself over HTTP, so that a server of the program has to wait for them (RFC 8252
    /// section 7.3).
    package var isLoopback: Bool {
        scheme == "http" && ["127.0.0.1", "[::1]", "localhost"].contains(host)
    }
}

extension GenericURL {
    /// The host in lower case; nil for a URL without a host.
    fileprivate var comparedHost: String? {
        host.flatMap { $0.isEmpty ? nil : $0.lowercased() }
    }

    /// The path without slashes at its end.
    fileprivate var comparedPath: String {
        var path = opaquePart ?? path
        while path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    /// Whether no segment of the path stands for this directory or for the directory above.
    fileprivate var hasPlainPath: Bool {
        !path.split(separator: "/").contains { segment in
            let plain = segment.lowercased().replacing("%2e", with: ".")
            return plain == "." || plain == ".."
        }
    }
}
