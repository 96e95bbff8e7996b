public import RFC1808

/// The URLs that a program waits for as its callback: those with a given scheme, with a given host, or below a given
/// path.
///
/// | pattern | URLs |
/// |---|---|
/// | `myapp` or `myapp:` | every URL with the scheme |
/// | `myapp://auth` | the URLs with the scheme and this host |
/// | `myapp://auth/done`, `com.example.app:/done` | the URLs at the path and below it |
///
/// Case does not matter in the scheme and the host. A path matches whole segments, so `/done` does not match `/donee`.
/// In a pattern, a slash at the end of the path is ignored, and so are a query and a fragment.
public struct CallbackPattern: Sendable, Hashable, CustomStringConvertible {
    /// Scheme in lower case.
    public let scheme: String
    /// Host in lower case; nil for URLs without a host, and for every URL if the path is empty too.
    package let host: String?
    private let port: UInt16?
    /// Path without a slash at its end; if empty, any path matches.
    private let path: String

    /// Maximum size of a pattern, in bytes.
    public static let maximumBytes = 2048

    /// Creates the pattern for every URL with the given scheme; nil if the text is not a scheme.
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
    /// - Throws: ``OpenURLError/Code/malformedURL`` if the text does not have the form of a pattern.
    public init(_ text: String) throws(OpenURLError) {
        if let whole = CallbackPattern(scheme: text) {
            self = whole
            return
        }
        let url: GenericURL
        do throws(GenericURL.ParseError) {
            url = try GenericURL(text, maximumLength: Self.maximumBytes)
        } catch {
            throw OpenURLError(.malformedURL, "the callback's pattern is not the beginning of a URL: \(error)")
        }
        try self.init(url)
    }

    /// Reads the pattern of the URL that a sign-in server sends the browser to: the value of `redirect_uri` in the
    /// address of the sign-in page (RFC 6749 section 4.1.1).
    ///
    /// - Throws: ``OpenURLError/Code/malformedURL`` if there is no such value, or if it is not a URL.
    public init(redirectOf url: GenericURL) throws(OpenURLError) {
        guard let text = FormParameters(url)["redirect_uri"] else {
            throw OpenURLError(
                .malformedURL,
                "the URL has no redirect_uri= with the callback; give a pattern, such as myapp://auth"
            )
        }
        try self.init(text)
    }

    private init(_ url: GenericURL) throws(OpenURLError) {
        guard let scheme = url.lowercasedScheme, url.user == nil, url.parameters == nil, url.hasPlainPath else {
            throw OpenURLError(
                .malformedURL,
                "the callback's pattern must be a scheme, a host and a path, such as myapp://auth/done"
            )
        }
        self.scheme = scheme
        host = url.comparedHost
        port = url.port
        path = url.comparedPath
    }

    /// Returns whether a URL matches. If the URL's path contains `.` or `..`, it may lead elsewhere, so only a pattern
    /// without a path matches.
    public func matches(_ url: GenericURL) -> Bool { matches(CallbackTarget(url)) }

    /// Returns whether a URL matches, given its parts.
    package func matches(_ target: CallbackTarget) -> Bool {
        guard target.scheme == scheme else { return false }
        if host == nil, path.isEmpty { return true }
        guard target.host == host, target.port == port, !target.hasUser else { return false }
        if path.isEmpty { return true }
        guard target.hasPlainPath, target.path.starts(with: path.utf8) else { return false }
        let next = target.path.dropFirst(path.utf8.count).first
        return next == nil || next == UInt8(ascii: "/")
    }

    /// Returns whether this pattern matches fewer URLs than another one, provided that some URL matches both.
    package func isNarrower(than other: CallbackPattern) -> Bool {
        (path.utf8.count, host == nil ? 0 : 1) > (other.path.utf8.count, other.host == nil ? 0 : 1)
    }

    /// The pattern as text.
    public var description: String {
        "\(scheme):\(host.map { "//\($0)\(port.map { ":\($0)" } ?? "")" } ?? "")\(path)"
    }
}

/// The parts of a URL that patterns are compared with. They are extracted once for all patterns, because the path may
/// have thousands of segments.
package struct CallbackTarget: Sendable {
    package let scheme: String?
    fileprivate let host: String?
    fileprivate let port: UInt16?
    fileprivate let hasUser: Bool
    /// As much of the path as a pattern can contain.
    fileprivate let path: [UInt8]
    fileprivate let hasPlainPath: Bool

    /// Extracts the parts from a URL.
    package init(_ url: GenericURL) {
        scheme = url.lowercasedScheme
        host = url.comparedHost
        port = url.port
        hasUser = url.user != nil
        path = Array((url.opaquePart ?? url.path).utf8.prefix(CallbackPattern.maximumBytes + 1))
        hasPlainPath = url.hasPlainPath
    }
}

extension CallbackPattern {
    /// Schemes whose URLs no program can wait for: those of web pages, of scripts, and of files.
    package static let schemesOfBrowsers: Set = [
        "about", "blob", "data", "file", "ftp", "http", "https", "javascript", "view-source", "ws", "wss",
    ]

    /// Whether the URLs lead back to this machine over HTTP, so that the program has to run a server to wait for them
    /// (RFC 8252 section 7.3).
    package var isLoopback: Bool {
        scheme == "http" && ["127.0.0.1", "[::1]", "localhost"].contains(host)
    }
}

extension GenericURL {
    /// Host in lower case; nil for a URL without a host.
    fileprivate var comparedHost: String? {
        host.flatMap { $0.isEmpty ? nil : $0.lowercased() }
    }

    /// Path without slashes at its end.
    fileprivate var comparedPath: String {
        let path = (opaquePart ?? path).utf8
        let end = path.lastIndex { $0 != UInt8(ascii: "/") }.map(path.index(after:)) ?? path.startIndex
        return String(Substring(path[..<end]))
    }

    /// Whether no segment of the path stands for this directory or for its parent.
    fileprivate var hasPlainPath: Bool {
        var rest = Array((opaquePart ?? path).utf8)[...]
        while let start = rest.firstIndex(where: { $0 != UInt8(ascii: "/") }) {
            let segment = rest[start...].prefix { $0 != UInt8(ascii: "/") }
            if segment.isOneOrTwoDots { return false }
            rest = rest[segment.endIndex...]
        }
        return true
    }
}

extension ArraySlice<UInt8> {
    /// Whether the bytes are `.` or `..`, where each dot may be plain or escaped.
    fileprivate var isOneOrTwoDots: Bool {
        var rest = self
        for count in 0...2 {
            guard let first = rest.first else { return count > 0 }
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.starts(with: "%2e".utf8) || rest.starts(with: "%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return false
            }
        }
        return false
    }
}
