internal import ByteCoding
internal import Glibc
package import RFC1808
package import SchemeRegistry
internal import UserFiles

/// The URLs and callers to which a rule applies: a source, a scheme and a host.
package struct PolicyPattern: Sendable, Hashable, CustomStringConvertible {
    package let source: PolicySource
    /// The scheme; nil for every scheme.
    package let scheme: Scheme?
    /// The pattern for the host; nil for every URL, even one without a host.
    package let host: HostPattern?

    package init(source: PolicySource, scheme: Scheme?, host: HostPattern?) {
        self.source = source
        self.scheme = scheme
        self.host = host
    }

    /// Reads a pattern from its parts, each of which may be `*`. An empty host also stands for every host.
    package init(source: String, scheme: String, host: String) throws(PolicySyntaxError) {
        let source = try PolicySource(source)
        do throws(Scheme.ParseError) {
            self.scheme = scheme == "*" ? nil : try Scheme(scheme)
        } catch {
            throw PolicySyntaxError("the scheme '\(printable(scheme))' \(error)")
        }
        do throws(HostPattern.ParseError) {
            self.host = host.isEmpty || host == "*" ? nil : try HostPattern(host)
        } catch {
            throw PolicySyntaxError("the host '\(printable(host))' \(error)")
        }
        self.source = source
    }

    /// Reads a pattern from the words of a rule: `SCHEME`, `SCHEME:` or `SCHEME://HOST`, and the source.
    package init(urls: String, source: String) throws(PolicySyntaxError) {
        var scheme = urls[...]
        var host = ""
        if let mark = urls.firstRange(of: "://") {
            scheme = urls[..<mark.lowerBound]
            host = String(urls[mark.upperBound...])
            if host.isEmpty {
                throw PolicySyntaxError("'\(printable(urls))' has no host: write SCHEME, or SCHEME://HOST")
            }
        } else if scheme.hasSuffix(":") {
            scheme = scheme.dropLast()
        }
        try self.init(source: source, scheme: String(scheme), host: host)
    }

    /// Returns whether the pattern's scheme and host match a URL.
    ///
    /// - Parameter isDoubtAMatch: whether a pattern with a host matches a URL whose host is in doubt.
    func isFor(_ url: PolicyURL, isDoubtAMatch: Bool = false) -> Bool {
        guard scheme == nil || scheme == url.scheme else { return false }
        guard let host else { return true }
        return url.isHostInDoubt ? isDoubtAMatch : url.host.map(host.matches) ?? false
    }

    /// Returns whether this pattern includes every URL and every caller that another pattern includes.
    func covers(_ other: PolicyPattern) -> Bool {
        source.covers(other.source) && (scheme == nil || scheme == other.scheme)
            && (host == nil || host == other.host || other.host.map { host?.covers($0) == true } ?? false)
    }

    /// The pattern's place in the order of specificity.
    var specificity: PolicySpecificity {
        PolicySpecificity(source: source.specificity, scheme: scheme == nil ? 0 : 1, host: host?.specificity ?? 0)
    }

    /// The scheme and the host as spelt in a rule.
    package var urls: String {
        (scheme?.rawValue ?? "*") + (host.map { "://\($0)" } ?? "")
    }

    /// The pattern as spelt in a rule, such as `tel from sandboxed`.
    package var description: String { "\(urls) from \(source)" }
}

/// The order of the rules that match a URL from a caller: the source decides, then the scheme, then the host.
///
/// For the source, the most specific rules are those for one application, then those for a prefix of identifiers, of
/// which a longer one is more specific. Then come rules for a host, for a class of callers, and for every caller. A
/// rule for one scheme is more specific than one for every scheme. A rule for one host is more specific than one for
/// `*.HOST`, and a longer pattern is more specific than a shorter one.
///
/// The source comes first because people decide about a program: `allow * from com.acme.app` applies to every scheme,
/// even alongside `ask tel from sandboxed`.
struct PolicySpecificity: Hashable, Comparable {
    let source: Int
    let scheme: Int
    let host: Int

    static func < (left: Self, right: Self) -> Bool {
        (left.source, left.scheme, left.host) < (right.source, right.scheme, right.host)
    }
}

extension HostPattern {
    fileprivate var isWildcard: Bool { rawValue.hasPrefix("*") }

    fileprivate var specificity: Int { isWildcard ? rawValue.utf8.count : .max }

    /// Returns whether this pattern matches every host that another one matches.
    fileprivate func covers(_ other: HostPattern) -> Bool {
        if self == other { return true }
        guard isWildcard else { return false }
        return other.rawValue.hasSuffix(rawValue.dropFirst())
    }
}

/// The parts of a URL that matter to a policy.
package struct PolicyURL: Sendable, Hashable {
    package let scheme: Scheme
    /// The host with its escapes decoded and without the dot that may end a name; nil for a URL without a host.
    package let host: String?
    /// Whether the host is an address in brackets, which every program reads in the same way.
    private let isAddress: Bool

    package init(scheme: Scheme, host: String?, isAddress: Bool = false) {
        self.scheme = scheme
        self.isAddress = isAddress
        self.host = host.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
    }

    /// Extracts the parts from a URL.
    ///
    /// - Parameter scheme: the URL's scheme.
    package init(_ url: GenericURL, scheme: Scheme) {
        do throws(GenericURL.PercentDecodingError) {
            let host = try url.decoded(.host)
            if host?.hasTooManyMarks == true {
                // Comparing the decoded host would take a long time, and no pattern contains it anyway.
                self.init(scheme: scheme, host: url.host.map(String.init))
            } else {
                self.init(scheme: scheme, host: host, isAddress: url.host?.hasPrefix("[") == true)
            }
        } catch {
            // Such a host is in no pattern. Only rules for every host apply.
            self.init(scheme: scheme, host: url.host.map(String.init))
        }
    }

    /// Returns the narrowest pattern for the URL and a source.
    package func pattern(from source: PolicySource) -> PolicyPattern {
        PolicyPattern(source: source, scheme: scheme, host: hostPattern)
    }

    /// The schemes in whose URLs a browser finds a host regardless of the number of slashes (URL Standard, "special
    /// scheme").
    private static let schemesWithAHost: Set<String> = ["http", "https", "ws", "wss", "ftp"]

    /// Whether another program may see a different host in the URL than this program does, or a host where there is
    /// none.
    ///
    /// A browser sees a host in `http:/example.com/`, maps letters such as a full-width `e`, decodes escapes, and sees
    /// 127.0.0.1 in `2130706433`, `0x7f.1` and `[::ffff:7f00:1]`. A program in C may cut a host at an escaped NUL.
    package var isHostInDoubt: Bool {
        let isOfABrowser = Self.schemesWithAHost.contains(scheme.rawValue)
        guard let host, !host.isEmpty else { return isOfABrowser }
        if isAddress { return isOfABrowser && Self.embedsAddress(host) }
        return hostPattern == nil || isOfABrowser && Self.isUnusualAddress(host)
    }

    /// Whether a browser interprets a host as an IPv4 address although it is not written like `127.0.0.1` (URL
    /// Standard, "ends in a number checker").
    private static func isUnusualAddress(_ host: String) -> Bool {
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard let last = labels.last, last.first.map({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) == true,
            last.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
                || last.starts(with: "0x".utf8) || last.starts(with: "0X".utf8)
        else { return false }
        let isUsual =
            labels.count == 4
            && labels.allSatisfy { label in
                let text = String(Substring(label))
                return UInt8(text).map { "\($0)" == text } ?? false
            }
        return !isUsual
    }

    /// Whether an IPv6 address stands for an IPv4 one: `::ffff:127.0.0.1`, or `::127.0.0.1`, no matter how it is
    /// written.
    private static func embedsAddress(_ host: String) -> Bool {
        var address = in6_addr()
        guard inet_pton(AF_INET6, host.filter { $0 != "[" && $0 != "]" }, &address) == 1 else { return true }
        let bytes = withUnsafeBytes(of: address) { Array($0) }
        guard bytes[..<10].allSatisfy({ $0 == 0 }) else { return false }
        if bytes[10] == 0xFF, bytes[11] == 0xFF { return true }
        return bytes[10] == 0 && bytes[11] == 0 && bytes[12..<15].contains { $0 != 0 }
    }

    /// Whether the narrowest pattern is only for URLs with the same host. IPv6 addresses and some other hosts cannot be
    /// patterns, and URLs in which this program sees no host may have different hosts for a browser.
    package var hasExactPattern: Bool { !isHostInDoubt && (host == nil || host == "" || hostPattern != nil) }

    /// Returns the narrowest pattern with which a rule allows the URL for a source. A rule for a host never allows a
    /// URL whose host is in doubt.
    package func patternToAllow(from source: PolicySource) -> PolicyPattern {
        PolicyPattern(source: source, scheme: scheme, host: isHostInDoubt ? nil : hostPattern)
    }

    private var hostPattern: HostPattern? {
        // In a URL, `*` is part of the host. In a pattern, it would stand for every host.
        guard let host, !host.contains("*") else { return nil }
        do throws(HostPattern.ParseError) {
            return try HostPattern(host)
        } catch {
            return nil
        }
    }
}
