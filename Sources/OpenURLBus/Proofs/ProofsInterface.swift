public import DBus

/// `org.openurl.Proofs1`, at the router's object: the `https` links that go to apps instead of the browser.
///
/// A handler's manifest names the sites whose links it opens (`OUAssociatedDomains`). It gets a link only with a proof:
///
/// - The person has allowed it (``decide``).
/// - The administrator has installed it: only root can change its manifest.
/// - The site's own file names it.
///
/// The router asks the sites when a handler is registered and about once a week, never when a link is opened. It keeps a
/// site's answer for 30 days. If the site answers that it no longer names the handler, the proof ends at once.
///
/// Only the user's programs that are not confined may call the interface; every other caller gets the error
/// ``OpenURLError/Code/notAllowed``.
public enum ProofsInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Proofs1"

    /// Returns each handler's claims on sites, in the order of hosts and handlers, and whether there is a proof for them.
    public static let list = Method<Empty, [LinkProof]>(name, "List", outputs: ["proofs"])
    /// Notes the person's decision about a handler and a host, or about every handler with a claim on the host if the
    /// identifier is empty. The last argument is `allow`, `deny`, or an empty string, which leaves the decision to the
    /// other proofs. When this returns, the decision is on disk.
    ///
    /// The error is ``OpenURLError/Code/noHandler`` if no such handler claims links to the host. A decision ends when the
    /// handler is unregistered, or when another manifest takes its place.
    public static let decide = Method<Arguments<String, String, String>, Empty>(
        name,
        "Decide",
        inputs: ["host", "id", "decision"]
    )
    /// Asks the sites that a handler names, or all sites if the identifier is empty, and returns when they have answered.
    ///
    /// A site has 30 s, and at most two are asked at the same time, so give the call a longer time limit. The error is
    /// `org.freedesktop.DBus.Error.Failed` if `openurl-proofs`, the program that asks, is not installed.
    public static let fetch = Method<String, Empty>(name, "Fetch", inputs: ["id"])

    /// The time for which a site's answer counts.
    public static let lifetime = Duration.seconds(30 * 86_400)
    /// The time after which a site is asked again.
    public static let interval = Duration.seconds(7 * 86_400)
    /// Number of claims on sites for which the router keeps proofs.
    public static let proofs = 512
    /// Number of claims that ``list`` returns.
    public static let listed = 2048
}
