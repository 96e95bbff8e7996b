public import DBus

/// `org.openurl.Callbacks1`, at the router's object: opens a URL and waits for the URL that comes back, as a sign-in in a browser
/// needs it (RFC 8252 section 7.1).
///
/// The program claims the URLs of a ``CallbackPattern`` for a while, without a registration. The first URL that matches goes to the
/// program instead of a handler, and ends the claim. The claim also ends at its time, and with the program's connection. All other
/// URLs go where they went before.
///
/// A URL that matches the pattern and brings another `state` than the claim wants, or none, is refused
/// (``OpenURLError/Code/notAllowed``); the claim stays, and its program is told once (``CallbackHandleInterface/refused``). The desktop reaches the router through an entry that the router writes while
/// there are claims.
public enum CallbackInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Callbacks1"

    /// Claims the URLs of a pattern, opens a URL, and returns the handle of the claim. The result arrives at the handle
    /// (``CallbackHandleInterface/completed``), perhaps before this method returns.
    ///
    /// With an empty pattern the router takes `redirect_uri` of the URL; with an empty URL the router opens nothing. A handler and a
    /// sandboxed program may claim URLs of the schemes of their own identifier. A scheme of another handler or application is for
    /// that program alone, unless a rule of the policy allows the URLs of the scheme to the caller. A program of the user may claim
    /// hosts below `openurl-probe.invalid` of any scheme, to see whether URLs arrive.
    ///
    /// The errors are ``OpenURLError/Code/notAllowed``, also for `http`, `https`, `javascript`, `data`, `file`, `about`, `blob` and
    /// the schemes of the system; ``OpenURLError/Code/alreadyClaimed`` if another claim has an equal pattern;
    /// ``OpenURLError/Code/limitsExceeded``; and ``OpenURLError/Code/malformedURL``.
    public static let request = Method<Arguments<String, String, CallbackOptions>, ObjectPath>(
        name,
        "Request",
        inputs: ["url", "pattern", "options"],
        outputs: ["handle"]
    )

    /// The domain of the hosts that every program of the user may wait for, whoever has the scheme: the doctor's probe sends URLs
    /// there, and no real URL goes there (RFC 2606 section 2).
    package static let probeDomain = "openurl-probe.invalid"

    /// The name in ``OpenResult/handler`` for every program that waited for the URL.
    public static let handler = "org.openurl.callback"
}

/// `org.openurl.Callback1`: the handle of a claim, below ``RequestInterface/root``. Only the connection that made the claim may use
/// the handle, and only it gets the signal.
public enum CallbackHandleInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Callback1"

    /// Ends the claim. ``completed`` follows with the code `closed`.
    public static let close = Method<Empty, Empty>(name, "Close")
    /// The claim has ended. The first argument is a raw value of ``CallbackEnd``, the second one the URL that came back, which is
    /// empty for every other end.
    public static let completed = Signal<Arguments<UInt32, String, CallbackDetails>>(
        name,
        "Completed",
        arguments: ["code", "url", "details"]
    )
    /// A URL of the pattern came and was refused, because of its `state`, its sender or the policy. ``CallbackDetails/error`` has the
    /// reason, without the URL. The claim stays; of further refusals it is not told.
    public static let refused = Signal<CallbackDetails>(name, "Refused", arguments: ["details"])
}

/// The ways in which a claim ends.
public enum CallbackEnd: UInt32, Sendable, Hashable, CaseIterable {
    /// The callback has come.
    case received = 0
    /// The program has ended the claim.
    case closed = 1
    /// The time is over, or the URL could not be opened. ``CallbackDetails/error`` has the cause.
    case failed = 2
}
