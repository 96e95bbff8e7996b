internal import DBus
public import OpenURLBus
public import RFC1808

/// The URL that came back.
public struct Callback: Sendable, Hashable {
    /// The URL itself.
    public let url: GenericURL
    /// The parameters in the query and the fragment, decoded as in a form. A parameter that has several different
    /// values is left out.
    public let query: [String: String]
    /// The program that sent the URL, as the bus and the kernel describe it; nil for a request to this program's own
    /// server.
    public let source: OpenContext.Source?
    /// The token that lets the program take the focus (`XDG_ACTIVATION_TOKEN`).
    public let activationToken: String?

    init(_ url: GenericURL, _ details: CallbackDetails? = nil) {
        self.url = url
        query = Dictionary(FormParameters(url).members.map { ($0.name, $0.value) }) { first, _ in first }
        source = details?.source
        activationToken = details?.activationToken
    }
}
