public import DBus

/// `org.openurl.Monitor1`, at the router's object: the requests as they happen, and the log of those that have ended.
///
/// Only programs of the user that are not confined may call the interface; every other caller gets the error
/// ``OpenURLError/Code/notAllowed``.
///
/// The router leaves out what may be a secret, and writes `…` in its place: the query, the fragment and the parameters of a URL, the
/// user and the password, the content of a `data` URL, and the token of an answer to a call. The same texts are left out of
/// messages. The log never has them. A subscriber may ask for the queries, the fragments and the parameters.
public enum MonitorInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Monitor1"

    /// Sends ``entries`` to the caller from now on; a second call changes the options.
    ///
    /// The subscription ends with the caller's connection, with the router, and when the caller does not read.
    public static let subscribe = Method<MonitorOptions, Empty>(name, "Subscribe", inputs: ["options"])
    /// Ends the caller's subscription. Does nothing without one.
    public static let unsubscribe = Method<Empty, Empty>(name, "Unsubscribe")
    /// Returns the entries of the log that a filter selects, the latest first, at most ``pageSize``.
    ///
    /// The next page is that of the filter whose ``MonitorFilter/before`` is the time of the last entry. An empty answer means that
    /// no entries are left. The error is `org.freedesktop.DBus.Error.Failed` if the log is off.
    public static let log = Method<MonitorFilter, [MonitorEntry]>(name, "Log", inputs: ["filter"], outputs: ["entries"])
    /// Requests have begun, have reached a step, or have ended since the last signal. An entry takes the place of an earlier one
    /// with the same ``MonitorEntry/time``. The signal goes to the connections that have called ``subscribe``.
    public static let entries = Signal<[MonitorEntry]>(name, "Entries", arguments: ["entries"])

    /// The largest number of entries in one answer of ``log``, and in one signal.
    public static let pageSize = 32
    /// The largest number of entries in the log. A later entry takes the place of the first one.
    public static let capacity = 10_000
    /// The time for which an entry stays in the log.
    public static let keptTime = Duration.seconds(30 * 86_400)
}

/// The options of a subscription: the `options` of ``MonitorInterface/subscribe``.
public struct MonitorOptions: Sendable, Hashable {
    /// Whether URLs have their queries, fragments and parameters.
    public var showsQueries = false

    /// Creates options that ask for nothing.
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
            "Whether URLs have their queries, fragments and parameters."
        )
    )
}
