public import DBus

/// `org.openurl.Monitor1`, at the router's object: the requests as they happen, and the log of those that have ended.
///
/// Only the user's programs that are not confined may call it; every other caller gets the error
/// ``OpenURLError/Code/notAllowed``.
///
/// Anything that may be a secret is left out, with `…` in its place: a URL's query, fragment and parameters, its user
/// and password, the content of a `data` URL, and the token in an answer to a call. The same strings are left out of
/// messages. A subscriber may ask for the queries, the fragments and the parameters, but the log never has them.
public enum MonitorInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Monitor1"

    /// Sends ``entries`` to the caller from now on; a second call changes the options.
    ///
    /// The subscription ends with the caller's connection, with the router, or if the caller does not read.
    public static let subscribe = Method<MonitorOptions, Empty>(name, "Subscribe", inputs: ["options"])
    /// Ends the caller's subscription, if there is one.
    public static let unsubscribe = Method<Empty, Empty>(name, "Unsubscribe")
    /// Returns the log entries that the filter selects, at most ``pageSize`` of them, the latest first.
    ///
    /// For the next page, set ``MonitorFilter/before`` to the time of the last entry. If the answer is empty, no
    /// entries are left. If the log is off, the error is `org.freedesktop.DBus.Error.Failed`.
    public static let log = Method<MonitorFilter, [MonitorEntry]>(name, "Log", inputs: ["filter"], outputs: ["entries"])
    /// Reports requests that have begun, reached a step, or ended since the last signal. An entry replaces an earlier
    /// one with the same ``MonitorEntry/time``. The signal goes to the connections that have called ``subscribe``.
    public static let entries = Signal<[MonitorEntry]>(name, "Entries", arguments: ["entries"])

    /// Maximum number of entries in one answer from ``log``, and in one signal.
    public static let pageSize = 32
    /// Maximum number of entries in the log. If it is full, a new entry takes the place of the oldest one.
    public static let capacity = 10_000
    /// How long an entry stays in the log.
    public static let keptTime = Duration.seconds(30 * 86_400)
}

/// Options for a subscription: the `options` of ``MonitorInterface/subscribe``.
public struct MonitorOptions: Sendable, Hashable {
    /// Whether URLs keep their queries, fragments and parameters.
    public var showsQueries = false

    /// Creates empty options.
    public init() {}
}

extension MonitorOptions: Record {
    package static let fields = FieldList(
        initial: MonitorOptions(),
        Field(
            "show-queries",
            { $0.showsQueries },
            { $0.showsQueries = $1 },
            omitting: false,
            "Whether URLs keep their queries, fragments and parameters."
        )
    )
}
