internal import OpenURLBus
internal import RFC1808

/// The URL with which a handler answers a call, without its parameters.
struct CallAnswer {
    enum Kind: String, CaseIterable {
        case success, error, cancel
    }

    let kind: Kind
    let token: String

    init(_ kind: Kind, _ token: String) {
        self.kind = kind
        self.token = token
    }

    /// Parses a URL with the scheme for answers; nil if it does not have the form of the URLs that calls hand out.
    init?(_ url: GenericURL) {
        guard let token = url.networkLocation?.lowercased(), let kind = Kind(rawValue: String(url.path.dropFirst()))
        else {
            return nil
        }
        self.init(kind, token)
    }

    /// This answer as a URL.
    var text: String { "\(XCallbackURL.replyScheme)://\(token)/\(kind.rawValue)" }
}
