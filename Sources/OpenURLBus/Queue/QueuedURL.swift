public import DBus

/// A URL in the queue, as ``QueueInterface`` lists it.
public struct QueuedURL: Sendable, Hashable {
    /// A queued URL's states.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// It is waiting for the time of the next attempt.
        case waiting
        /// A handler has it, or is being started for it.
        case delivering
        /// It is a dead letter, and is tried again only if a caller asks for that.
        case dead
        /// A handler has taken it, and it has left the queue, unless it is repeated.
        case delivered
    }

    /// The URL's number.
    public var id: String
    /// The URL as it arrived.
    public var url: String
    /// The handler that would have got the URL when it arrived; `host:` and a name if the URL is for another host.
    public var handler: String
    /// The request's ID if the caller gave one, or else the number.
    public var requestID: String?
    /// The URL's state.
    public var state: State
    /// The number of attempts to deliver it.
    public var attempts: UInt32
    /// When the router accepted the URL, in seconds since 1970.
    public var accepted: UInt64
    /// When it is tried next, or its time comes, in seconds since 1970; nil if no attempt is planned.
    public var next: UInt64?
    /// The time that the caller set; nil if it set none. For a URL that is repeated, this is the first time.
    public var deliveryTime: DeliveryTime?
    /// How often the URL is delivered; nil for once.
    public var repeatInterval: RepeatInterval?
    /// The text of the notification that the user gets; nil if the URL is delivered.
    public var notification: String?
    /// Why the last attempt failed.
    public var error: RemoteError? {
        get { errorFields.error.map(RemoteError.init) }
        set { errorFields.error = newValue.map(ErrorFields.NamedError.init) }
    }

    package var errorFields = ErrorFields()

    /// Creates an entry.
    public init(id: String, url: String, handler: String, state: State, attempts: UInt32, accepted: UInt64) {
        self.id = id
        self.url = url
        self.handler = handler
        self.state = state
        self.attempts = attempts
        self.accepted = accepted
    }
}

extension QueuedURL: Record, ErrorReporting {
    package static let fields = FieldList(
        initial: QueuedURL(id: "", url: "", handler: "", state: .waiting, attempts: 0, accepted: 0),
        incomplete: "a queued URL without an id, a URL or a state",
        Field("id", { $0.id }, { $0.id = $1 }, isRequired: true, "The number of the URL."),
        Field(
            "request-id",
            { $0.requestID },
            { $0.requestID = $1 },
            "The name of the request, which the handler gets in its context."
        ),
        Field("url", { $0.url }, { $0.url = $1 }, isRequired: true, "The URL as it arrived."),
        Field(
            "handler",
            { $0.handler },
            { $0.handler = $1 },
            "The handler that would have got the URL at the time when the URL arrived; `host:` and a name if the URL is for another host."
        ),
        Field("state", { $0.state }, { $0.state = $1 }, isRequired: true, "The state of the URL."),
        Field("attempts", { $0.attempts }, { $0.attempts = $1 }, "The number of attempts."),
        Field(
            "accepted",
            { $0.accepted },
            { $0.accepted = $1 },
            "The time when the router accepted the URL, in seconds since 1970."
        ),
        Field("next", { $0.next }, { $0.next = $1 }, "The time of the next attempt, in seconds since 1970."),
        Field(
            "at",
            { $0.deliveryTime },
            { $0.deliveryTime = $1 },
            "The time that the caller set, as in the options; without the key, it set none."
        ),
        Field(
            "every",
            { $0.repeatInterval },
            { $0.repeatInterval = $1 },
            "How often the URL is delivered; without the key, it is delivered once."
        ),
        Field(
            "notify",
            { $0.notification },
            { $0.notification = $1 },
            "The text of the notification that the user gets; without the key, the URL is delivered."
        ),
        .error,
        .message
    )
}

extension QueuedURL.State: Word {
    package static func problem(with word: String) -> String { "'\(word)' is not a state of a queued URL" }
}
