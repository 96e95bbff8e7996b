internal import UserFiles

/// A claim on the links to one host: an element of `OUAssociatedDomains`, such as `example.com` or `example.com/notes/*`.
///
/// Apple's `applinks:example.com` means the same as `example.com`.
public struct AssociatedDomain: Sendable, Hashable, CustomStringConvertible {
    /// The host.
    public let host: WebHost
    /// The paths that the app opens.
    public let pattern: PathPattern

    /// Thrown for a string that is not a claim.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text begins with another of Apple's services, or with a scheme.
        case service(String)
        /// The text has one of Apple's modes.
        case mode
        /// The host is not one that an app can have.
        case host(WebHost.ParseError)
        /// The rest is not a pattern.
        case pattern(PathPattern.ParseError)

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .service(let service):
                "begins with '\(printable(service))'; write only the host, as in example.com, or applinks: before it"
            case .mode: "has a mode after '?'; write only the host and a path"
            case .host(let error): "does not name a host: it \(error)"
            case .pattern(let error): "has a path that \(error)"
            }
        }
    }

    private static let service = "applinks:"

    /// Creates a claim on all links to a host.
    public init(_ host: WebHost) {
        self.host = host
        pattern = .all
    }

    /// Checks a string.
    public init(_ text: String) throws(ParseError) {
        let isService = text.hasPrefix(Self.service)
        let rest = text.dropFirst(isService ? Self.service.count : 0)
        let host = rest.prefix { $0 != "/" }
        if let colon = host.firstIndex(of: ":"), host[..<colon].allSatisfy({ $0.isASCII && $0.isLetter }) {
            throw .service(String(host[...colon]))
        }
        guard !host.contains("?") else { throw .mode }
        do throws(WebHost.ParseError) {
            self.host = try WebHost(String(host))
        } catch {
            throw .host(error)
        }
        let path = String(rest.dropFirst(host.count))
        do throws(PathPattern.ParseError) {
            pattern = path.isEmpty ? .all : try PathPattern(path)
        } catch {
            throw .pattern(error)
        }
    }

    /// The host, and the pattern unless it is for every path.
    public var description: String { pattern == .all ? host.rawValue : "\(host)\(pattern)" }
}
