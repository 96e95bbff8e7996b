public import DBus

/// `org.openurl.Queue1`, at the router's object: the URLs that were accepted with `delivery` `queued`.
///
/// Every program of the user may call the interface. Deliveries to one handler run one at a time.
///
/// A delivery that fails is tried again after 1, 2, 4 … 60 s. A URL stays in the queue as a dead letter if the handler
/// refuses the URL or takes too long, or after eight failures. A dead letter stays until a caller retries or drops it,
/// or until a thousand later dead letters exist.
///
/// Methods that take a number answer with the error `org.freedesktop.DBus.Error.InvalidArgs` if the queue has no URL of
/// that number.
public enum QueueInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Queue1"

    /// Returns the URLs that follow a given number, in the order of their numbers, at most ``pageSize``. An empty text
    /// asks for the first URLs. An empty answer means that no URLs follow.
    public static let list = Method<String, [QueuedURL]>(name, "List", inputs: ["after"], outputs: ["urls"])
    /// The largest number of URLs in one answer of ``list``. URLs may be long.
    public static let pageSize = 128
    /// The largest number of URLs in the queue.
    public static let capacity = 65_536
    /// Tries a URL again now, with all of its attempts. A URL that is being delivered stays as it is.
    public static let retry = Method<String, Empty>(name, "Retry", inputs: ["id"])
    /// Removes a URL. A URL that is being delivered may still arrive.
    public static let drop = Method<String, Empty>(name, "Drop", inputs: ["id"])
    /// Returns the outcome of a URL, and waits for it if necessary: the result with the handler's reply, or the error of a dead
    /// letter. The outcome of a URL that is dropped is ``OpenURLError/Code/cancelled``.
    ///
    /// A reply is kept for ``keptTime``, without its descriptors. The router keeps ``keptReplies``. One caller gets at most half of
    /// what is left, and the caller's oldest replies give way to newer ones. The wait ends after ``keptTime`` with
    /// ``OpenURLError/Code/timedOut``, and with the caller's connection.
    public static let wait = Method<UInt64, OpenResult>(name, "Wait", inputs: ["id"], outputs: ["result"])
    /// The time for which a reply is kept.
    public static let keptTime = Duration.seconds(86_400)
    /// The largest number of replies that are kept.
    public static let keptReplies = 8192
    /// A URL has reached a state: a raw value of ``QueuedURL/State``. The signal goes to the connections that have called
    /// ``RouterInterface/subscribe``.
    public static let stateChanged = Signal<Arguments<String, String>>(
        name,
        "StateChanged",
        arguments: ["id", "state"]
    )
}
