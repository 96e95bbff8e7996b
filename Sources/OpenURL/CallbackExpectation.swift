/// The callback that ``OpenURLClient/openForCallback(_:expecting:timeout:)`` waits for.
public enum CallbackExpectation: Sendable, Hashable {
    /// Every URL with this scheme, such as `myapp`.
    case scheme(String)
    /// The URLs with this host or below this path, such as `myapp://auth/done`. For the rules, see `CallbackPattern` in
    /// `OpenURLBus`.
    case prefix(String)
    /// A request for this path, such as `/callback`, to a server that the client runs on this machine. The client puts
    /// the server's address into the URL's `redirect_uri`.
    case loopback(path: String)
}
