public import DBus

/// `org.openurl.Relay1`, at the router's object: requests that a relay passes on for a program on another machine or in
/// a container.
///
/// The relay is one of the user's programs, such as `openurl ssh`, and each method takes the program's place as the first
/// argument: `host:NAME` or `container:NAME`, as in the rules of the policy. The request has the class `remote`, and
/// none of the relay's own rights. Only the user's programs that are not confined may call the interface; every other
/// caller gets the error ``OpenURLError/Code/notAllowed``.
///
/// A router that is older than a relay does not have the interface, so it can never treat such a request as the relay's
/// own.
public enum RelayInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Relay1"

    /// Opens a URL, as ``RouterInterface/openURL`` does. Unless a rule decides, the user is asked about a URL of `http`
    /// or `https`, and every other URL is refused. Of the options, only `handle-token`, `timeout` and
    /// `activation-token` count.
    public static let openURL = Method<Arguments<String, String, OpenOptions>, OpenResult>(
        name,
        "OpenURL",
        inputs: ["source", "url", "options"],
        outputs: ["result"]
    )
    /// Returns whether ``openURL`` might open a URL, perhaps after a question to the user. Launches nothing.
    public static let canOpenURL = Method<Arguments<String, String>, Bool>(
        name,
        "CanOpenURL",
        inputs: ["source", "url"],
        outputs: ["can_open"]
    )
    /// Claims the callback that an `http` or `https` URL names as `redirect_uri`, opens the URL, and returns the claim's
    /// handle, as ``CallbackInterface/request`` does.
    ///
    /// The URL must have a `state`, and no program may have the callback's scheme: otherwise a program on another machine
    /// could take URLs that were never meant for it. Of the options, only `handle-token`, `timeout` and
    /// `activation-token` count.
    public static let requestCallback = Method<Arguments<String, String, CallbackOptions>, ObjectPath>(
        name,
        "RequestCallback",
        inputs: ["source", "url", "options"],
        outputs: ["handle"]
    )
}
