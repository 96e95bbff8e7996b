public import DBus

/// Options for opening a URL: the `options` of `OpenURL`.
public struct OpenOptions: Sendable, Hashable {
    /// A value that the handler gets unchanged. It may hold descriptors, at most `Value.maximumDescriptors`, of which
    /// the handler gets its own copies. A descriptor cannot wait in the queue.
    public var annotation: Value?
    /// Bundle identifier of the only handler that may get the URL.
    public var handler: String?
    /// The caller's time limit for opening the URL, rounded up to whole milliseconds. If this is nil, the handler's own
    /// limit applies: 20 s, unless its manifest says otherwise.
    public var timeout: Duration?
    /// Whether to leave the foreground as it is. The handler is then launched into the background, or stays there.
    public var inBackground = false
    /// Whether the router stores the URL and returns at once. It delivers the URL when it can, even after a restart,
    /// and tries again after a failure. A time limit then applies to each attempt.
    public var isQueued = false
    /// When to deliver the URL; nil for at once. A URL with a time is always queued.
    ///
    /// A time that has passed is refused. A time that passes while no router runs is made up for by the next router.
    public var deliveryTime: DeliveryTime? {
        didSet { if deliveryTime != nil { isQueued = true } }
    }
    /// How often to deliver the URL from ``deliveryTime`` on; nil for once. Only a time on the clock of the session can be
    /// repeated, and the clock says when the next one has come.
    ///
    /// If several deliveries are missed, only one is made up for. Each delivery has a request ID of its own.
    public var repeatInterval: RepeatInterval?
    /// The text of a notification that the user gets instead of the handler getting the URL; nil for none. A click on the
    /// notification opens the URL. At most ``maximumNotificationBytes``; a URL with such a text is always queued.
    ///
    /// When the notification is on the screen, the URL has left the queue. A click puts it there again.
    public var notification: String? {
        didSet { if notification != nil { isQueued = true } }
    }
    /// The other host whose router opens the URL, or a group of hosts; nil for this host. A URL for another host is always
    /// queued. It can have a time, but no repeats, no notification and no fallback.
    public var host: HostName? {
        didSet { if host != nil { isQueued = true } }
    }
    /// How long the URL may wait in a queue, from ``deliveryTime`` on, or from when the router accepts it; nil for any length
    /// of time. A URL that has not been delivered by then never will be. A URL for another host waits for at most
    /// ``HostsInterface/longestLifetime``.
    ///
    /// The contract has no room for more than 4,294,967,295 milliseconds, about 49.7 days. A longer time counts as
    /// that.
    public var lifetime: Duration? {
        didSet { if lifetime != nil { isQueued = true } }
    }
    /// Activation token, which lets the handler take the focus (`XDG_ACTIVATION_TOKEN`).
    ///
    /// The handler gets it unchanged, with one URL: not if it is longer than 1024 bytes or has a control character, if a
    /// handler or an application has got it before, or if the URL is delivered at a time or after a click on a
    /// notification. If there is only one of this and ``desktopStartupID``, it is used for both.
    public var activationToken: String?
    /// ID of the startup notification (`DESKTOP_STARTUP_ID`), which the handler gets on the same terms.
    public var desktopStartupID: String?
    /// The desktop entry through which the desktop passes the URL, such as `com.acme.todolist.desktop`.
    ///
    /// From this, the router knows which application the user picked. Because some desktops decode URLs, it also
    /// re-escapes the bytes that cannot appear in a URL.
    public var desktopEntry: String?
    /// Whether a link to a web page goes to the browser even if a handler has a proof for it.
    public var inBrowser = false
    /// MIME type of the file that a `file` URL refers to, such as `image/png`; nil lets the router find it.
    public var contentType: String?
    /// URLs to try in turn, as long as the previous one has no handler; at most ``maximumFallbacks``.
    public var fallback: [String] = []

    /// The last element of the handle's path (see ``RequestInterface``); nil for a request without a handle.
    public var handleToken: HandleToken?
    /// The request's ID, which the handler gets in the context. If this is nil, the router makes one up.
    ///
    /// If you open a URL again because you do not know the outcome, use the same ID, so that the handler notices.
    public var requestID: RequestID?

    /// The request's place in the caller's trace, which the handler gets unchanged.
    public var traceParent: TraceParent?

    /// Whether the result's steps include those that the router takes for every URL: `routed` when the handler is
    /// chosen and the sender may open the URL, `delivered` when the URL goes to the process, and `answered` when the
    /// answer has arrived.
    public var includesRouterSteps = false

    /// Whether the caller asks the user itself, at its own terminal. If so, the router answers
    /// ``OpenURLError/Code/notAllowed`` where it would otherwise ask, and the caller gets the question from
    /// ``PolicyInterface/question``.
    public var asksAtTerminal = false
    /// Permission from a ``PolicyQuestion`` that the user answered with yes.
    public var permission: String?
    /// The class of the sender that ``RouterInterface/explain`` assumes; nil for the caller itself.
    ///
    /// This sender has no identifier. Only the user's programs may set this; for others, the error is
    /// ``OpenURLError/Code/notAllowed``. The other methods ignore it.
    public var senderClass: CallerClass?

    /// Maximum size of ``handler``, and of ``desktopEntry``, in bytes: the limit for a bus name, and for a file name.
    private static let maximumNameBytes = 255
    /// Maximum size of all URLs in ``fallback`` together, in bytes.
    package static let maximumFallbackBytes = 64 << 10
    /// Maximum size of ``notification`` in bytes.
    public static let maximumNotificationBytes = 1024
    /// Maximum number of URLs in ``fallback``.
    public static let maximumFallbacks = 16

    /// Creates empty options.
    public init() {}

    fileprivate static let deliveryKey = "delivery"
    private static let timeKey = "at"
    private static let repeatKey = "every"
    private static let notificationKey = "notify"
    private static let hostKey = "to"
    private static let lifetimeKey = "lifetime"
    private static let fallbackKey = "fallback"
    private static let annotationKey = "annotation"
    private static let contentTypeKey = "content-type"

    fileprivate enum Delivery: String, CaseIterable {
        case now, queued
    }

    fileprivate var delivery: Delivery {
        get { isQueued ? .queued : .now }
        // A URL with a time or a notification is queued in any case, and that key may have arrived before.
        set { isQueued = isQueued || newValue == .queued }
    }

    private var lifetimeMilliseconds: UInt32? {
        get { lifetime.map { UInt32(clamping: $0.milliseconds) } }
        set { lifetime = newValue.map { .milliseconds(Int($0)) } }
    }

    private var milliseconds: UInt32? {
        get { timeout.map { UInt32(clamping: $0.milliseconds) } }
        set { timeout = newValue.map { .milliseconds(Int($0)) } }
    }
}

extension OpenOptions: Record {
    package static let fields = FieldList(
        initial: OpenOptions(),
        Field(
            annotationKey,
            { $0.annotation },
            { $0.annotation = $1 },
            "A value of any type, which the handler gets unchanged; at most \(Value.maximumDescriptors) descriptors, none for the queue."
        ),
        Field(
            "handler",
            { $0.handler },
            { $0.handler = $1 },
            "The bundle identifier of the only handler that may get the URL."
        ),
        Field(
            "timeout",
            { $0.milliseconds },
            { $0.milliseconds = $1 },
            "The time limit for opening the URL, in milliseconds; without the key, the handler's own limit applies."
        ),
        Field(
            "background",
            { $0.inBackground },
            { $0.inBackground = $1 },
            omitting: false,
            "Whether the handler is launched into the background, or stays there."
        ),
        Field(
            deliveryKey,
            { $0.delivery },
            { $0.delivery = $1 },
            omitting: .now,
            "When to deliver the URL; `queued` stores it and returns at once."
        ),
        Field(
            timeKey,
            { $0.deliveryTime },
            { $0.deliveryTime = $1 },
            "The time at which to deliver the URL, which is then queued: `2026-12-01T09:00:00` on the clock of the session, or a point in time such as `2026-12-01T08:00:00Z` or `2026-12-01T08:00:00.250Z`."
        ),
        Field(
            repeatKey,
            { $0.repeatInterval },
            { $0.repeatInterval = $1 },
            "How often to deliver the URL from the time in `at` on, which must be on the clock of the session."
        ),
        Field(
            notificationKey,
            { $0.notification },
            { $0.notification = $1 },
            "The text of a notification that the user gets instead, and whose click opens the URL, which is then queued; at most \(maximumNotificationBytes) bytes."
        ),
        Field(
            hostKey,
            { $0.host },
            { $0.host = $1 },
            "The name of the other host whose router opens the URL, or `@` and the name of a group of hosts; the URL is then queued."
        ),
        Field(
            lifetimeKey,
            { $0.lifetimeMilliseconds },
            { $0.lifetimeMilliseconds = $1 },
            "How long the URL may wait in a queue, in milliseconds; the URL is then queued."
        ),
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
            "desktop-entry",
            { $0.desktopEntry },
            { $0.desktopEntry = $1 },
            "The desktop entry through which the desktop passes the URL; bytes that cannot appear in a URL are escaped."
        ),
        Field(
            "browser",
            { $0.inBrowser },
            { $0.inBrowser = $1 },
            omitting: false,
            "Whether a link goes to the browser even if a handler has a proof for it."
        ),
        Field(
            contentTypeKey,
            { $0.contentType },
            { $0.contentType = $1 },
            "The MIME type of the file that a `file` URL names; without the key the router finds the type."
        ),
        Field(
            fallbackKey,
            { $0.fallback },
            { $0.fallback = $1 },
            omitting: [],
            "The URLs to try in turn while the previous URL has no handler; at most \(maximumFallbacks)."
        ),
        Field(
            "handle-token",
            { $0.handleToken },
            { $0.handleToken = $1 },
            "The last element of the path of the request's handle: 1 to 64 ASCII letters, digits and underscores."
        ),
        Field(
            "request-id",
            { $0.requestID },
            { $0.requestID = $1 },
            "The name of the request: 1 to 64 ASCII letters, digits, dots, hyphens and underscores, beginning with a letter; without the key, and for a program in a sandbox, the router makes up a name."
        ),
        Field(
            "traceparent",
            { $0.traceParent },
            { $0.traceParent = $1 },
            "The request's place in the caller's trace, in the format of W3C Trace Context; the handler gets it unchanged."
        ),
        Field(
            "router-steps",
            { $0.includesRouterSteps },
            { $0.includesRouterSteps = $1 },
            omitting: false,
            "Whether the steps of the result include the router's own: `routed`, `delivered` and `answered`."
        ),
        Field(
            "asks-at-terminal",
            { $0.asksAtTerminal },
            { $0.asksAtTerminal = $1 },
            omitting: false,
            "Whether the caller asks the user itself where the router would ask."
        ),
        Field(
            "permission",
            { $0.permission },
            { $0.permission = $1 },
            "The permission that comes with a question to which the user said yes."
        ),
        Field(
            "sender-class",
            { $0.senderClass },
            { $0.senderClass = $1 },
            "The class of the sender that `Explain` assumes instead of the caller; only for the user's programs."
        )
    )

    package func validate() throws(MessageDecodingError) {
        guard annotation?.descriptorCount ?? 0 <= Value.maximumDescriptors else {
            throw .invalidValue("'\(Self.annotationKey)' has more than \(Value.maximumDescriptors) descriptors")
        }
        guard handler?.utf8.count ?? 0 <= Self.maximumNameBytes, desktopEntry?.utf8.count ?? 0 <= Self.maximumNameBytes
        else {
            throw .invalidValue("'handler' or 'desktop-entry' is longer than \(Self.maximumNameBytes) bytes")
        }
        if let repeatInterval, deliveryTime?.isWallClock != true {
            let every = "'\(Self.repeatKey)' '\(repeatInterval.rawValue)'"
            throw .invalidValue("\(every) needs a time without a time zone in '\(Self.timeKey)'")
        }
        guard lifetime != .zero else { throw .invalidValue("'\(Self.lifetimeKey)' must be above zero") }
        if lifetime != nil, repeatInterval != nil {
            throw .invalidValue("'\(Self.lifetimeKey)' cannot be combined with '\(Self.repeatKey)'")
        }
        if host != nil {
            let others = [
                (Self.repeatKey, repeatInterval != nil), (Self.notificationKey, notification != nil),
                (Self.fallbackKey, !fallback.isEmpty),
            ]
            if let (key, _) = others.first(where: { $0.1 }) {
                throw .invalidValue("'\(Self.hostKey)' cannot be combined with '\(key)'")
            }
        }
        if let notification, !(1...Self.maximumNotificationBytes).contains(notification.utf8.count) {
            throw .invalidValue("'\(Self.notificationKey)' must have 1 to \(Self.maximumNotificationBytes) bytes")
        }
        if let contentType, !isMIMEType(contentType) {
            throw .invalidValue("'\(Self.contentTypeKey)' is not a MIME type such as image/png")
        }
        guard fallback.count <= Self.maximumFallbacks else {
            throw .invalidValue("'\(Self.fallbackKey)' has more than \(Self.maximumFallbacks) URLs")
        }
        guard fallback.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumFallbackBytes else {
            throw .invalidValue("'\(Self.fallbackKey)' has more than \(Self.maximumFallbackBytes) bytes")
        }
    }
}

extension OpenOptions.Delivery: Word {
    /// Refuses an unknown word: if a caller asks for more than the router can do, it must not believe that the router
    /// does it.
    fileprivate static func problem(with word: String) -> String {
        "'\(OpenOptions.deliveryKey)' must be '\(Self.now.rawValue)' or '\(Self.queued.rawValue)'"
    }
}

extension Duration {
    /// Whole milliseconds, rounded up. A time that is too long for that becomes the longest one.
    package var milliseconds: Int64 {
        let (seconds, limit) = (components.seconds, Int64.max / 2000)
        guard (-limit...limit).contains(seconds) else { return seconds < 0 ? .min : .max }
        return seconds * 1000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

/// Returns whether a string is a type and a subtype, each a restricted name (RFC 6838 section 4.2).
private func isMIMEType(_ text: String) -> Bool {
    let names = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
    return names.count == 2
        && names.allSatisfy { name in
            guard let first = name.first, isLetterOrDigit(first), name.count <= 127 else { return false }
            return name.allSatisfy { isLetterOrDigit($0) || "!#$&^_+.-".utf8.contains($0) }
        }
}

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
}
