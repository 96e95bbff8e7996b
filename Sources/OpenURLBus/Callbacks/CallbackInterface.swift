public import DBus

/// `org.openurl.Callbacks1`, at the router's object: opens a URL and waits for the URL that comes back, as a program
/// does when it signs in through a browser (RFC 8252 section 7.1).
///
/// The program temporarily claims the URLs that match a ``CallbackPattern``, without a registration. The first URL that
/// matches goes to it instead of to a handler, and ends the claim. The claim also ends when its time runs out or the
/// program's connection ends. All other URLs go where they went before.
///
/// If a URL matches the pattern but its `state` is missing or differs from the one that the claim requires, the router
/// refuses it (``OpenURLError/Code/notAllowed``). The claim stays, and its program is notified of the first refusal
/// (``CallbackHandleInterface/refused``). While there are claims, the desktop passes their URLs to the router through
/// an entry that the router writes.
public enum CallbackInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Callbacks1"

    /// Claims the URLs that match a pattern, opens a URL, and returns the claim's handle. The result arrives at the
    /// handle (``CallbackHandleInterface/completed``), perhaps before this method returns.
    ///
    /// If the pattern is empty, the router takes the URL's `redirect_uri`; if the URL is empty, it opens nothing.
    /// Handlers and sandboxed programs may claim URLs with the schemes that belong to their own identifier. If another
    /// handler or application has a scheme, only that program may claim it, unless a rule in the policy allows the
    /// caller the URLs with this scheme. The user's own programs may claim hosts below `openurl-probe.invalid` with any
    /// scheme, to see whether URLs arrive.
    ///
    /// Errors: ``OpenURLError/Code/notAllowed``, also for `http`, `https`, `javascript`, `data`, `file`, `about`,
    /// `blob` and the system's schemes; ``OpenURLError/Code/alreadyClaimed`` if another claim has an equal pattern;
    /// ``OpenURLError/Code/limitsExceeded``; and ``OpenURLError/Code/malformedURL``.
    public static let request = Method<Arguments<String, String, CallbackOptions>, ObjectPath>(
        name,
        "Request",
        inputs: ["url", "pattern", "options"],
        outputs: ["handle"]
    )

    /// The domain whose hosts any of the user's programs may wait for, no matter which program has the scheme. The
    /// doctor's probe sends URLs there; no real URL leads there (RFC 2606 section 2).
    package static let probeDomain = "openurl-probe.invalid"

    /// The value of ``OpenResult/handler`` if a program was waiting for the URL.
    public static let handler = "org.openurl.callback"
}

/// `org.openurl.Callback1`: a claim's handle, below ``RequestInterface/root``. Only the connection that made the claim
/// may use it, and only that connection gets the signal.
public enum CallbackHandleInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Callback1"

    /// Ends the claim. ``completed`` follows with the code `closed`.
    public static let close = Method<Empty, Empty>(name, "Close")
    /// Reports that the claim has ended. The first argument is a raw value of ``CallbackEnd``; the second is the URL
    /// that came back, which is empty for every other end.
    public static let completed = Signal<Arguments<UInt32, String, CallbackDetails>>(
        name,
        "Completed",
        arguments: ["code", "url", "details"]
    )
    /// Reports that a matching URL arrived and was refused, because of its `state`, its sender or the policy.
    /// ``CallbackDetails/error`` gives the reason, without the URL. The claim stays, and further refusals are not
    /// reported.
    public static let refused = Signal<CallbackDetails>(name, "Refused", arguments: ["details"])
}

/// The ways in which a claim can end.
public enum CallbackEnd: UInt32, Sendable, Hashable, CaseIterable {
    /// The callback arrived.
    case received = 0
    /// The program ended the claim.
    case closed = 1
    /// Time ran out, or the URL could not be opened. ``CallbackDetails/error`` gives the cause.
    case failed = 2
}
