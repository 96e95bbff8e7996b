public import DBus

/// `org.openurl.Queue1`, at the router's object: the URLs that were accepted with `delivery` `queued`.
///
/// All the user's programs may call it. Deliveries to one handler run one at a time.
///
/// If a delivery fails, it is tried again after 1, 2, 4 … 60 s. If the handler refuses the URL or takes too long, or
/// after eight failures, the URL stays in the queue as a dead letter until a caller retries or drops it, or until there
/// are a thousand later dead letters.
///
/// A URL with a time, the option `at`, waits for it. If it is repeated, it stays in the queue after a delivery, and also if
/// a delivery fails for good: it then waits for its next time.
///
/// A URL with a text for a notification, the option `notify`, leaves the queue when the notification is on the screen. If
/// the user clicks on it, the URL is in the queue again, with another number, and is delivered.
///
/// If a method takes a number and the queue has no URL with that number, the error is
/// `org.freedesktop.DBus.Error.InvalidArgs`.
public enum QueueInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Queue1"

    /// Returns at most ``pageSize`` of the URLs that follow a given number, in the order of their numbers. To get the
    /// first URLs, pass an empty string. If the answer is empty, no URLs follow.
    public static let list = Method<String, [QueuedURL]>(name, "List", inputs: ["after"], outputs: ["urls"])
    /// Maximum number of URLs in one answer from ``list``. It is small because URLs may be long.
    public static let pageSize = 128
    /// Maximum number of URLs in the queue.
    public static let capacity = 65_536
    /// Tries a URL now, even if its time has not come, with as many attempts as the first time. If it is being
    /// delivered, nothing changes.
    public static let retry = Method<String, Empty>(name, "Retry", inputs: ["id"])
    /// Removes a URL. After the answer, no handler gets it; if a handler already has it, it may still open it.
    public static let drop = Method<String, Empty>(name, "Drop", inputs: ["id"])
    /// Returns the outcome of a URL, and waits for it if necessary: the result with the handler's reply, or a dead
    /// letter's error. For a URL that is repeated, it is the outcome of the next delivery. If the URL is dropped, the
    /// error is ``OpenURLError/Code/cancelled``.
    ///
    /// A reply is kept for ``keptTime``, without its descriptors. The router keeps at most ``keptReplies`` of them. One
    /// caller gets at most half of the space that is left, and its oldest replies make way for newer ones. After
    /// ``keptTime`` the wait ends with ``OpenURLError/Code/timedOut``; it also ends with the caller's connection.
    public static let wait = Method<String, OpenResult>(name, "Wait", inputs: ["id"], outputs: ["result"])
    /// How long a reply is kept.
    public static let keptTime = Duration.seconds(86_400)
    /// Maximum number of replies that are kept.
    public static let keptReplies = 8192
    /// Reports that a URL has reached a state: a raw value of ``QueuedURL/State``. The signal goes to the connections
    /// that have called ``RouterInterface/subscribe``.
    public static let stateChanged = Signal<Arguments<String, String>>(
        name,
        "StateChanged",
        arguments: ["id", "state"]
    )
}
