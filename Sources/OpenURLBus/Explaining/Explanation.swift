/// The decision that `OpenURL` would make about a URL, and the reasons: the result of `Explain`.
public struct Explanation: Sendable, Hashable {
    /// One handler or application that claims the URL.
    public struct Candidate: Sendable, Hashable {
        /// Bundle identifier, or name of the desktop file.
        public var id: String
        /// The way in which the candidate gets URLs.
        public var kind: Reported<HandlerKind>
        /// The pattern that the URL's host matches; nil if the candidate accepts any host.
        public var host: String?
        /// Whether this candidate would get the URL.
        public var wins: Bool
        /// Why it won or lost, in words.
        public var reason: String

        /// Creates a candidate.
        public init(id: String, kind: Reported<HandlerKind>, host: String?, wins: Bool, reason: String) {
            self.id = id
            self.kind = kind
            self.host = host
            self.wins = wins
            self.reason = reason
        }
    }

    /// Names of the parts that a URL can have, in the order in which they appear. The password is not one of them.
    public static let partNames = Parts.fields.all.map(\.key)

    /// The URL as the caller wrote it, or with the escapes that are added because of ``OpenOptions/desktopEntry``.
    public var url: String
    /// The URL's parts as the caller wrote them, by ``partNames``. Missing parts are left out.
    public var parts: [String: String] {
        get { partFields.texts }
        set { partFields.texts = newValue }
    }
    /// The MIME type of the file that the URL refers to; nil for any other URL.
    public var contentType: String?
    /// The handler or application that would get the URL; nil if there is none.
    public var handler: String?
    /// Name of the URL's scheme in the user's language (`CFBundleURLName`); nil if the handler has none.
    public var urlName: String?
    /// Name of the kind of file in the user's language (`CFBundleTypeName`); nil if the handler has none, or for any other
    /// URL.
    public var typeName: String?
    /// Path of the image to show while the handler is launched for the URL; nil if there is none.
    public var launchImage: String?
    /// The way in which ``handler`` would get the URL; nil if there is no handler.
    public var transport: Reported<HandlerKind>?
    /// The handler's state; nil for an application, or if there is no handler.
    public var state: Reported<HandlerState>?
    /// The time until which the handler is not started because it crashed too often, in seconds since 1970; nil if it
    /// may be started.
    public var quarantinedUntil: UInt64?
    /// Why the handler's program cannot be started, and how to correct it; nil if nothing is wrong with it, or if its file
    /// system does not respond.
    ///
    /// It is also nil for an application, for a handler that is running or is a program of `openurl run`, for a confined
    /// caller, and if there is no handler.
    public var programProblem: String?
    /// Programs that may send URLs to the handler; nil for an application, or if there is no handler.
    public var reach: Reported<HandlerReach>?
    /// The senders whose URLs the handler accepts, as identifiers and patterns; nil if it accepts every sender.
    public var allowedSources: [String]?
    /// Whether the router opens the callbacks of x-callback-url with the handler's replies (`OUAnswersCallbacks`); nil
    /// for an application, or if there is no handler.
    public var answersCallbacks: Bool?
    /// The policy's decision for this caller; nil if there is no handler, unless the policy denies the URL before one is
    /// looked up.
    public var decision: Reported<PolicyDecision>?
    /// The rule and its file, or any other reason for ``decision``, in words.
    public var decisionReason: String?
    /// The rule for links that decides, as `FILE:LINE: RULE`; nil if none does.
    public var linkRule: String?
    /// The URL that would be opened, if rules for links have changed it; nil otherwise.
    public var changedURL: String?
    /// The handlers and applications that claim the URL. The first one would get it.
    public var candidates: [Candidate]
    /// Why the URL would not be opened for this caller: the name of an ``OpenURLError`` and its message.
    public var error: (name: String, message: String)? {
        get { errorFields.error.map { ($0.name, $0.message) } }
        set { errorFields.error = newValue.map { ErrorFields.NamedError(name: $0.name, message: $0.message) } }
    }

    private var partFields = Parts()
    package var errorFields = ErrorFields()

    /// Creates an explanation that has only the URL.
    public init(url: String) {
        self.url = url
        candidates = []
    }

    /// A URL's parts, as they are sent over the bus.
    package struct Parts: Sendable, Hashable {
        var texts: [String: String] = [:]
    }
}

extension Explanation: Record, ErrorReporting {
    package static let fields = FieldList(
        initial: Explanation(url: ""),
        Field("url", { $0.url }, { $0.url = $1 }, "The URL, as the caller wrote it."),
        Field(
            "parts",
            { $0.partFields },
            { $0.partFields = $1 },
            "The parts of the URL that are present, as the caller wrote them."
        ),
        Field(
            "content-type",
            { $0.contentType },
            { $0.contentType = $1 },
            "The MIME type of the file that the URL names."
        ),
        Field("handler", { $0.handler }, { $0.handler = $1 }, "The handler or application that would get the URL."),
        Field(
            "url-name",
            { $0.urlName },
            { $0.urlName = $1 },
            "What the scheme stands for, in the user's language (`CFBundleURLName`)."
        ),
        Field(
            "type-name",
            { $0.typeName },
            { $0.typeName = $1 },
            "What the file is, in the user's language (`CFBundleTypeName`)."
        ),
        Field(
            "launch-image",
            { $0.launchImage },
            { $0.launchImage = $1 },
            "The path of the image to show while the handler is launched for the URL."
        ),
        Field("transport", { $0.transport }, { $0.transport = $1 }, "The way in which the handler would get the URL."),
        Field(
            "state",
            { $0.state },
            { $0.state = $1 },
            "The state of the handler; the key is absent for an application."
        ),
        Field(
            "quarantined-until",
            { $0.quarantinedUntil },
            { $0.quarantinedUntil = $1 },
            "The time until which the handler is not started because it crashed too often, in seconds since 1970."
        ),
        Field(
            "program-problem",
            { $0.programProblem },
            { $0.programProblem = $1 },
            "Why the handler's program cannot be started, and how to correct it, in words; absent for a handler that is running, and for a confined caller."
        ),
        Field(
            "reach",
            { $0.reach },
            { $0.reach = $1 },
            "The programs that may send URLs to the handler; the key is absent for an application."
        ),
        Field(
            "allowed-sources",
            { $0.allowedSources },
            { $0.allowedSources = $1 },
            "The senders whose URLs the handler accepts; without the key the handler accepts every sender."
        ),
        Field(
            "answers-callbacks",
            { $0.answersCallbacks },
            { $0.answersCallbacks = $1 },
            "Whether the router opens the callbacks of x-callback-url with the handler's replies; absent for an application."
        ),
        Field("decision", { $0.decision }, { $0.decision = $1 }, "The policy's decision for this caller."),
        Field(
            "decision-reason",
            { $0.decisionReason },
            { $0.decisionReason = $1 },
            "The rule and its file, or another reason for the decision, in words."
        ),
        Field(
            "link-rule",
            { $0.linkRule },
            { $0.linkRule = $1 },
            "The rule for links that decides, as `FILE:LINE: RULE`."
        ),
        Field(
            "changed-url",
            { $0.changedURL },
            { $0.changedURL = $1 },
            "The URL that would be opened, if rules for links have changed it."
        ),
        .error,
        .message,
        Field(
            "candidates",
            { $0.candidates },
            { $0.candidates = $1 },
            "The handlers and applications that claim the URL, the winner first."
        )
    )
}

extension Explanation.Parts: Record {
    package static let fields = FieldList(
        initial: Explanation.Parts(),
        part("scheme", "The scheme, without the colon."),
        part("user", "The user, without the password."),
        part("host", "The host."),
        part("port", "The port, in decimal digits."),
        part(
            "opaquePart",
            "The text between the colon and the query of a URL such as `mailto:a@b.c`, which has no path."
        ),
        part("path", "The path; empty if there is none."),
        part("parameters", "The parameters, without the semicolon."),
        part("query", "The query, without the question mark."),
        part("fragment", "The fragment, without the number sign.")
    )

    private static func part(_ name: String, _ meaning: String) -> Field<Explanation.Parts> {
        Field(name, { $0.texts[name] }, { $0.texts[name] = $1 }, meaning)
    }
}

extension Explanation.Candidate: Record {
    package static let fields = FieldList(
        initial: Explanation.Candidate(id: "", kind: .absent, host: nil, wins: false, reason: ""),
        Field("id", { $0.id }, { $0.id = $1 }, "The bundle identifier, or the name of the desktop file."),
        Field("kind", { $0.kind }, { $0.kind = $1 }, "The way in which the candidate gets URLs."),
        Field(
            "host",
            { $0.host },
            { $0.host = $1 },
            "The pattern for the host that the URL matches; without the key any host is accepted."
        ),
        Field("wins", { $0.wins }, { $0.wins = $1 }, "Whether the candidate would get the URL."),
        Field("reason", { $0.reason }, { $0.reason = $1 }, "The reason why the candidate won or lost, in words.")
    )
}
