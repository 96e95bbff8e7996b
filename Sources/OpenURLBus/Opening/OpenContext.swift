public import DBus

/// Facts that a handler gets with a URL: the `context` of `Open`.
public struct OpenContext: Sendable, Hashable {
    /// The program that a URL comes from, as the bus and the kernel describe it.
    ///
    /// The router looks through the `openurl` command and the desktop's openers, such as `xdg-open` and `gio open`, to
    /// the program that started them.
    public struct Source: Sendable, Hashable {
        /// The kind of program.
        public var callerClass = Reported<CallerClass>.absent
        /// Identifier of the application that the program belongs to: a handler's identifier, or the one that the
        /// sandbox gives. Nil if there is none.
        public var application: String?
        /// Name of the other machine that the program is on: the one that the user gave to `openurl ssh`, or under which a
        /// key or a certificate is known. Nil for every other program.
        public var host: String?
        /// Name of the container that the program is in, as the user gave it to `openurl share`. Nil for every other
        /// program.
        public var container: String?
        /// Identifier of the process at the time when the URL arrived.
        public var pid: UInt32?
        /// The user that the process runs as.
        public var uid: UInt32?
        /// Path of the program that the process runs.
        public var executable: String?
        /// The systemd unit that the process belongs to.
        public var unit: String?
        /// Unique name of the connection on which the URL arrived. If it begins with `:lane.`, the connection belongs to
        /// the router's own socket, and the bus does not know it.
        public var uniqueName: String?
        /// Paths of the programs that passed the URL on, beginning with the one that called the router.
        public var via: [String] = []
        /// Whether the program passes URLs on for another one that is not known, because it is a portal, a sandbox's
        /// proxy, or an opener whose parent has exited.
        public var isIntermediary = false

        /// Creates a source about which nothing is known.
        public init() {}
    }

    /// The sender's bundle identifier, if it is a handler that the router knows. The router never takes this from the
    /// sender.
    public var sourceApplication: String?
    /// The program that the URL comes from.
    public var source = Source()
    /// A value from the sender, which the handler gets unchanged.
    public var annotation: Value?
    /// Activation token, which lets the handler take the focus.
    public var activationToken: String?
    /// ID of the startup notification.
    public var desktopStartupID: String?
    /// Number of handlers that opened each other, one after the other, up to this URL; 0 if the sender is not a
    /// handler.
    public var hops: UInt32 = 0
    /// When the router accepted the request, in microseconds on the clock of ``TracePhase/now``. The times in a trace
    /// are measured from this moment.
    public var accepted: UInt64?

    /// The request's ID, given by the caller, by the queue, or by the router.
    ///
    /// If the handler or the router crashes, a queued URL arrives again with the same ID. So if you must not act twice
    /// on a URL, remember its ID. No other request has it, unless the caller uses an ID twice.
    public var requestID: String?
    /// The request's place in the sender's trace, unchanged.
    public var traceParent: TraceParent?
    /// Whether the reply to the URL goes on to the program that asked for a callback (x-callback-url).
    public var wantsReply = false
    /// Whether the handler stays in the background, or is launched into it.
    public var inBackground = false
    /// The push for which the router opens the URL, because the handler's manifest has `OUPushURL`.
    public var push: RemoteNotification?
    /// The handler's own notification, if the user has clicked on it to open the URL.
    public var localNotification: LocalNotification?
    /// Changes that happened while the handler was suspended, with the latest value of each kind. The handler gets them
    /// before the URL.
    public var notifications: [String: Value] = [:]

    /// Creates an empty context.
    public init() {}
}

extension OpenContext: Record {
    package static let fields = FieldList(
        initial: OpenContext(),
        Field(
            "source-application",
            { $0.sourceApplication },
            { $0.sourceApplication = $1 },
            "The bundle identifier of the sender, if it is a handler that the router knows."
        ),
        Field(
            "source",
            { $0.source },
            { $0.source = $1 },
            "The program that the URL comes from, as the bus and the kernel describe it."
        ),
        Field("annotation", { $0.annotation }, { $0.annotation = $1 }, "A value of any type from the sender."),
        Field(
            "activation-token",
            { $0.activationToken },
            { $0.activationToken = $1 },
            "The token that lets the handler take the focus."
        ),
        Field(
            "desktop-startup-id",
            { $0.desktopStartupID },
            { $0.desktopStartupID = $1 },
            "The name of the startup notification."
        ),
        Field(
            "hops",
            { $0.hops },
            { $0.hops = $1 },
            omitting: 0,
            "The length of the chain of handlers that led to this URL, each opened by the one before it; without the key, the sender is not a handler."
        ),
        Field(
            "accepted",
            { $0.accepted },
            { $0.accepted = $1 },
            "The time when the router accepted the request, in microseconds on the monotonic clock."
        ),
        Field(
            "request-id",
            { $0.requestID },
            { $0.requestID = $1 },
            "The name of the request; a queued URL has the same name each time that it is delivered."
        ),
        Field(
            "traceparent",
            { $0.traceParent },
            { $0.traceParent = $1 },
            "The request's place in the sender's trace, in the format of W3C Trace Context."
        ),
        Field(
            "wants-reply",
            { $0.wantsReply },
            { $0.wantsReply = $1 },
            omitting: false,
            "Whether the reply goes on to the program that asked for a callback (x-callback-url)."
        ),
        Field(
            "background",
            { $0.inBackground },
            { $0.inBackground = $1 },
            omitting: false,
            "Whether the handler stays in the background, or is launched into the background."
        ),
        Field(
            "notifications",
            { $0.notifications },
            { $0.notifications = $1 },
            omitting: [:],
            "The latest value of each kind of change that happened while the handler was suspended."
        ),
        Field(
            "push",
            { $0.push },
            { $0.push = $1 },
            "The push for which the router opens the URL (`OUPushURL` in the manifest)."
        ),
        Field(
            "local-notification",
            { $0.localNotification },
            { $0.localNotification = $1 },
            "The handler's own notification, if the user has clicked on it to open the URL."
        )
    )
}

extension OpenContext.Source: Record {
    package static let fields = FieldList(
        initial: OpenContext.Source(),
        Field(
            "class",
            { $0.callerClass },
            { $0.callerClass = $1 },
            omitting: .absent,
            "The kind of program."
        ),
        Field(
            "application",
            { $0.application },
            { $0.application = $1 },
            "The identifier of the handler, or the identifier that the sandbox gives."
        ),
        Field(
            "host",
            { $0.host },
            { $0.host = $1 },
            "The name of the other machine that the program is on: that in `openurl ssh`, or that of its key or certificate."
        ),
        Field(
            "container",
            { $0.container },
            { $0.container = $1 },
            "The name of the container that the program is in, as the user gave it to `openurl share`."
        ),
        Field(
            "pid",
            { $0.pid },
            { $0.pid = $1 },
            "The identifier of the process at the time when the URL arrived."
        ),
        Field("uid", { $0.uid }, { $0.uid = $1 }, "The user that the process runs as."),
        Field(
            "executable",
            { $0.executable },
            { $0.executable = $1 },
            "The path of the program that the process runs."
        ),
        Field("unit", { $0.unit }, { $0.unit = $1 }, "The systemd unit that the process belongs to."),
        Field(
            "unique-name",
            { $0.uniqueName },
            { $0.uniqueName = $1 },
            "The unique name of the connection on which the URL arrived; one such as `:lane.6` belongs to the router's own socket, and is not on the bus."
        ),
        Field(
            "via",
            { $0.via },
            { $0.via = $1 },
            omitting: [],
            "The paths of the programs that passed the URL on, beginning with the program that called the router."
        ),
        Field(
            "intermediary",
            { $0.isIntermediary },
            { $0.isIntermediary = $1 },
            omitting: false,
            "Whether the program passes URLs on for an unknown program, as a portal and the proxy of a sandbox do."
        )
    )
}
