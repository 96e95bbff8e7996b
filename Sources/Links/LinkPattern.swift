package import RFC1808
internal import SchemeRegistry
internal import UserFiles

/// The URLs to which a rule applies.
///
/// | text | URLs |
/// |---|---|
/// | `*` | every `http` and `https` URL |
/// | `tel`, `tel:` | every URL with this scheme |
/// | `https://HOST` | the URLs with this scheme and host |
/// | `*://HOST` | the `http` and `https` URLs with this host |
/// | `…HOST:8080` | those with this port |
/// | `…HOST/PATH` | those whose path matches |
/// | `…HOST/PATH?QUERY` | those whose path and query match |
///
/// In a path and a query, `*` stands for any characters. A host is one host, `*.HOST` for the hosts below one, or any
/// other text with `*`.
package struct LinkPattern: Sendable, Hashable, CustomStringConvertible {
    /// The hosts to which a pattern applies.
    enum Host: Sendable, Hashable {
        case any
        case one(String)
        /// Every host below this one.
        case below(String)
        case matching(LinkGlob)
    }

    /// The scheme in lower case; nil for `http` and `https`.
    let scheme: String?
    let host: Host
    /// The port; nil for every port.
    let port: UInt16?
    /// The pattern for the path; nil for every path.
    let path: LinkGlob?
    /// The pattern for the query, without its question mark; nil for every query, or none.
    let query: LinkGlob?
    /// The pattern as written.
    package let description: String

    /// Maximum length of a pattern, in bytes.
    static let maximumLength = 2048

    /// Reads a pattern.
    package init(_ text: String) throws(LinkSyntaxError) {
        guard text.utf8.count <= Self.maximumLength, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw LinkSyntaxError(
                "'\(printable(text))' is not a pattern: write printable ASCII, at most \(Self.maximumLength) bytes"
            )
        }
        description = text
        guard let mark = text.firstRange(of: "://") else {
            (host, port, path, query) = (.any, nil, nil, nil)
            scheme = text == "*" ? nil : try Self.scheme(text.hasSuffix(":") ? text.dropLast() : text[...], text)
            return
        }
        let name = text[..<mark.lowerBound]
        scheme = name == "*" ? nil : try Self.scheme(name, text)
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        (host, port) = try Self.place(authority, text)
        let target = rest[authority.endIndex...]
        let written = target.prefix { $0 != "?" }
        path = written.isEmpty ? nil : LinkGlob(written.utf8)
        query = written.endIndex == target.endIndex ? nil : LinkGlob(target[written.endIndex...].dropFirst().utf8)
    }

    private static func scheme(_ name: Substring, _ text: String) throws(LinkSyntaxError) -> String {
        if name.contains(where: { $0 == "." || $0 == "/" || $0 == "*" }) {
            throw LinkSyntaxError(
                "'\(printable(text))' is not a pattern: write *://HOST/PATH for web pages, SCHEME: for a scheme, or *"
            )
        }
        if asciiLowercased(String(name)) == "file" {
            throw LinkSyntaxError("files are opened by their type: choose the program with 'openurl default TYPE ID'")
        }
        do throws(Scheme.ParseError) {
            return try Scheme(String(name)).rawValue
        } catch {
            throw LinkSyntaxError("the scheme '\(printable(String(name)))' \(error)")
        }
    }

    private static func place(_ authority: Substring, _ text: String) throws(LinkSyntaxError) -> (Host, UInt16?) {
        var name = authority
        var port: UInt16?
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard let number = UInt16(authority[authority.index(after: colon)...]) else {
                throw LinkSyntaxError("'\(printable(text))' has no port after ':'")
            }
            port = number
            name = authority[..<colon]
        }
        let host = asciiLowercased(String(name.hasSuffix(".") ? name.dropLast() : name))
        if host.isEmpty { throw LinkSyntaxError("'\(printable(text))' has no host: write *://*/PATH for every host") }
        if host == "*" { return (.any, port) }
        do throws(HostPattern.ParseError) {
            let pattern = try HostPattern(host).rawValue
            return (pattern.hasPrefix("*.") ? .below(String(pattern.dropFirst(2))) : .one(pattern), port)
        } catch {
            guard case .misplacedWildcard = error else {
                throw LinkSyntaxError("the host '\(printable(String(name)))' \(error)")
            }
            return (.matching(LinkGlob(host.utf8)), port)
        }
    }

    /// Returns whether the pattern applies to a URL.
    func matches(_ link: Link) -> Bool {
        if let scheme { guard scheme == link.scheme else { return false } } else if !link.isOfTheWeb { return false }
        if let port, port != link.port { return false }
        switch host {
        case .any: break
        case .one(let name): guard link.host == name else { return false }
        case .below(let name):
            guard let host = link.host, host.utf8.count > name.utf8.count + 1, host.hasSuffix(name),
                host.utf8.dropLast(name.utf8.count).last == UInt8(ascii: ".")
            else { return false }
        case .matching(let glob):
            guard let host = link.host, glob.matches(Array(host.utf8)[...]) else { return false }
        }
        if let path, !path.matches(link.target[..<link.pathLength]) { return false }
        guard let query else { return true }
        return link.pathLength < link.target.count && query.matches(link.target[(link.pathLength + 1)...])
            || link.pathLength == link.target.count && query.bytes.isEmpty
    }
}

extension LinkPattern {
    /// A host with a pattern for its links.
    package struct Site: Sendable, Hashable {
        /// The host in lower case, with its escapes decoded.
        package let host: String
        /// The pattern for the links of the URL's scheme to the host, or for those of the web if the URL is one of them.
        package let pattern: String
    }

    /// Returns the site of a URL; nil if no pattern stands for its host alone.
    package static func site(of url: GenericURL) -> Site? {
        guard let link = Link(url), let host = link.host else { return nil }
        let text = "\(link.isOfTheWeb ? "*" : link.scheme)://\(host)"
        do throws(LinkSyntaxError) {
            guard case .one(host) = try LinkPattern(text).host else { return nil }
            return Site(host: host, pattern: text)
        } catch {
            return nil
        }
    }
}
