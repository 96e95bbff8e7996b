public import RFC1808

/// A link to a web page that an app may get instead of the browser.
public struct WebLink: Sendable, Hashable {
    /// The host.
    public let host: WebHost
    /// The path, decoded.
    public let path: LinkPath

    /// Why a URL always goes to the browser.
    public enum Refusal: Error, Hashable, CustomStringConvertible {
        /// The scheme is not `https`. Without it, any machine on the way could have changed the page that has the link.
        case scheme
        /// There is no host.
        case noHost
        /// The URL has a user name or a password.
        case user
        /// The URL has a port other than 443.
        case port
        /// The host is not one that an app can have.
        case host(WebHost.ParseError)
        /// The URL has parameters after a semicolon.
        case parameters
        /// The path is not for apps.
        case path(LinkPath.Refusal)

        /// The refusal, as a sentence without its end.
        public var description: String {
            switch self {
            case .scheme: "only https links are for apps"
            case .noHost: "the link has no host"
            case .user: "the link has a user name"
            case .port: "the link has a port other than 443"
            case .host(let error): "the host \(error)"
            case .parameters: "the path \(LinkPath.Refusal.ambiguous)"
            case .path(let refusal): "the path \(refusal)"
            }
        }
    }

    /// Creates a link from a URL. The query and the fragment do not matter.
    public init(_ url: GenericURL) throws(Refusal) {
        guard url.lowercasedScheme == "https" else { throw .scheme }
        guard let location = url.networkLocation, !location.isEmpty else { throw .noHost }
        guard !location.utf8.contains(UInt8(ascii: "@")) else { throw .user }
        var host = location
        if let colon = location.utf8.firstIndex(of: UInt8(ascii: ":")) {
            guard location[colon...] == ":443" else { throw .port }
            host = location[..<colon]
        }
        do throws(WebHost.ParseError) {
            self.host = try WebHost(String(host))
        } catch {
            throw .host(error)
        }
        guard url.parameters == nil else { throw .parameters }
        do throws(LinkPath.Refusal) {
            path = try LinkPath(url.path)
        } catch {
            throw .path(error)
        }
    }
}
