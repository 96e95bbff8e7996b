/// The callback that ``OpenURLClient/openForCallback(_:expecting:timeout:)`` waits for.
public enum CallbackExpectation: Sendable, Hashable {
    /// Every URL of a scheme, such as `myapp`.
    case scheme(String)
    /// The URLs of a host or below a path, such as `myapp://auth/done`. `CallbackPattern` of `OpenURLBus` has the rules.
    case prefix(String)
    /// A request to a server of the program on this machine, for a path such as `/callback`. The client puts the server's address
    /// into `redirect_uri` of the URL.
    case loopback(path: String)
}
