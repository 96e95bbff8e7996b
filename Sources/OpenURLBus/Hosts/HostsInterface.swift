public import DBus

/// `org.openurl.Hosts1`, at the router's object: the other hosts to which the user sends URLs, and the URLs that arrive from
/// them.
///
/// A URL for another host waits in the queue (``QueueInterface``) until that host's router has answered. A carrier takes it
/// there: the router's own, which runs ssh, or the program that owns ``BridgeInterface/service``. A carrier passes the
/// requests that arrive to ``receive``. Only the user's programs that are not confined may call the interface.
public enum HostsInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Hosts1"

    /// Returns the hosts that the user has added and those for which URLs wait, in the order of their names.
    public static let list = Method<Empty, [HostEntry]>(name, "List", outputs: ["hosts"])
    /// Returns the problems in the file with the hosts: a line of text for each part that is not used.
    public static let problems = Method<Empty, [String]>(name, "Problems", outputs: ["problems"])
    /// Adds a host, or changes its address. The address is `ssh:` and what ssh takes for a host, such as
    /// `ssh:alice@laptop.example`, or `bridge:` for a host that the bridge reaches. The name `*` with the address `bridge:`
    /// stands for all hosts without an address.
    public static let add = Method<Arguments<String, String>, Empty>(name, "Add", inputs: ["name", "address"])
    /// Removes a host. Its URLs stay in the queue until they are dropped, or until the host is added again.
    public static let remove = Method<String, Empty>(name, "Remove", inputs: ["name"])
    /// Gives the router a URL from another host, and returns the outcome.
    ///
    /// The caller answers for the name of the host, which is empty for a host whose name is not proved. The router takes the
    /// request once: it remembers ``HostRequest/id`` for ``memory``, and answers a repetition with the outcome of the first
    /// request. After ``outcomeTime`` without an outcome, the result's way is ``OpenResult/Way/queued``; repeat the request
    /// later to get the outcome.
    ///
    /// The URL is opened as one of a caller of the class ``CallerClass/remote``. Nobody is asked: without a rule that allows
    /// the URL, the error is ``OpenURLError/Code/notAllowed``. Of the options, only `annotation`, `background`, `handler`,
    /// `lifetime`, `timeout` and `traceparent` count.
    public static let receive = Method<Arguments<String, HostRequest>, OpenResult>(
        name,
        "Receive",
        inputs: ["host", "request"],
        outputs: ["result"]
    )
    /// Reports that a host has appeared at the bridge, or that an answer to its URLs has arrived there, so that the router
    /// tries its URLs again. An empty name stands for all hosts of the bridge. Only the owner of
    /// ``BridgeInterface/service`` may call this.
    public static let appeared = Method<Arguments<String, [String]>, Empty>(
        name,
        "Appeared",
        inputs: ["host", "requests"]
    )

    /// How long a router remembers the requests of other hosts.
    public static let memory = Duration.seconds(7 * 86_400)
    /// How long a URL for another host may wait. It is shorter than ``memory``, so that no request is repeated after the
    /// other router has forgotten it.
    public static let longestLifetime = Duration.seconds(6 * 86_400)
    /// How long ``receive`` waits for an outcome.
    public static let outcomeTime = Duration.seconds(15)
    /// Maximum size of a request or of an outcome as a message, in bytes.
    public static let largestRequest = 1 << 20
    /// Number of requests to one host that are on their way at the same time.
    public static let requestsInFlight = 32
}

/// `org.openurl.Bridge1`: the carrier for hosts that ssh does not reach. The router calls it.
public enum BridgeInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Bridge1"
    /// The bridge's name on the bus.
    public static let service: BusName = "org.openurl.Bridge1"
    /// The path of the bridge's object.
    public static let path: ObjectPath = "/org/openurl/Bridge1"

    /// Takes a request to a host, and returns the outcome that the host's router gives.
    ///
    /// If the bridge has the request but no outcome within ``HostsInterface/outcomeTime``, the result's way is
    /// ``OpenResult/Way/queued``. The router then repeats the request later, which costs nothing as long as the request is on
    /// its way. The bridge calls ``HostsInterface/appeared`` when a repetition makes sense.
    public static let send = Method<Arguments<String, HostRequest>, OpenResult>(
        name,
        "Send",
        inputs: ["host", "request"],
        outputs: ["result"]
    )
}
