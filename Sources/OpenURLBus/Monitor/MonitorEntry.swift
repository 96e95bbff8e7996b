public import DBus

/// One request to the router, as ``MonitorInterface`` shows it.
public struct MonitorEntry: Sendable, Hashable {
    /// The kinds of requests.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A program opens a URL, now or through the queue.
        case open
        /// A program opens a URL, and waits for its handler to answer.
        case call
        /// A URL goes to the program that waits for it.
        case callback
        /// The queue tries to deliver a URL.
        case attempt
        /// A program brings a handler to the foreground.
        case activate
        /// A program wakes a handler.
        case wake
    }

    /// When the router got the request, in microseconds since 1970. No other request has the same time.
    public var time: UInt64
    /// The request's kind.
    public var kind: Reported<Kind>
    /// The request's ID.
    public var requestID: String?
    /// Identifier of the program that the request comes from, its host or container, or else its path; nil if none is
    /// known.
    public var source: String?
    /// Class of the program that the request comes from.
    public var callerClass = Reported<CallerClass>.absent
    /// The process that the request comes from.
    public var pid: UInt32?
    /// The URL, with `…` in place of anything that may be a secret; nil for a request without a URL.
    public var url: String?
    /// The handler or application that the request is for.
    public var handler: String?
    /// Why this handler was chosen, in the words of ``Explanation/Candidate/reason``.
    public var rule: String?
    /// The policy's decision.
    public var decision: Reported<PolicyDecision>?
    /// The policy's rule, or any other reason for ``decision``, in words.
    public var decisionReason: String?
    /// Number of the queue's attempt.
    public var attempt: UInt32?
    /// The way in which the router reached the handler.
    public var way: Reported<OpenResult.Way>?
    /// The steps so far, in order.
    public var trace: [TracePhase] = []
    /// Time from the request to its end, in microseconds; nil until the request has an outcome.
    public var microseconds: UInt64?
    /// Why the request failed, if it did.
    public var error: RemoteError? {
        get { errorFields.error.map(RemoteError.init) }
        set { errorFields.error = newValue.map(ErrorFields.NamedError.init) }
    }

    package var errorFields = ErrorFields()

    /// Creates an entry for a request that has just begun.
    public init(time: UInt64, kind: Kind) {
        self.time = time
        self.kind = .known(kind)
    }

    /// The URL's scheme, in lower case.
    public var scheme: String? {
        guard let url, let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return url[..<colon].lowercased()
    }
}

extension MonitorEntry.Kind: Word {
    package static func problem(with word: String) -> String { "'\(word)' is not a kind of request" }
}

extension MonitorEntry: Record, ErrorReporting {
    package static let fields = FieldList(
        initial: MonitorEntry(time: 0, kind: .open),
        incomplete: "an entry without a time or a kind",
        Field(
            "time",
            { $0.time },
            { $0.time = $1 },
            isRequired: true,
            "When the router got the request, in microseconds since 1970; no other request has the same time."
        ),
        Field("kind", { $0.kind }, { $0.kind = $1 }, isRequired: true, "The kind of request."),
        Field("request-id", { $0.requestID }, { $0.requestID = $1 }, "The name of the request."),
        Field(
            "source",
            { $0.source },
            { $0.source = $1 },
            "The identifier of the program that the request comes from, its host or container, or else the program's path."
        ),
        Field(
            "class",
            { $0.callerClass },
            { $0.callerClass = $1 },
            omitting: .absent,
            "The kind of program that the request comes from."
        ),
        Field("pid", { $0.pid }, { $0.pid = $1 }, "The process that the request comes from."),
        Field(
            "url",
            { $0.url },
            { $0.url = $1 },
            "The URL, with `…` in place of what may be a secret; the key is absent for a request without a URL."
        ),
        Field("handler", { $0.handler }, { $0.handler = $1 }, "The handler or application that the request is for."),
        Field("rule", { $0.rule }, { $0.rule = $1 }, "The reason why this handler was chosen, in words."),
        Field("decision", { $0.decision }, { $0.decision = $1 }, "The policy's decision."),
        Field(
            "decision-reason",
            { $0.decisionReason },
            { $0.decisionReason = $1 },
            "The policy's rule, or another reason for the decision, in words."
        ),
        Field("attempt", { $0.attempt }, { $0.attempt = $1 }, "The number of the queue's attempt."),
        Field("way", { $0.way }, { $0.way = $1 }, "The way in which the router reached the handler."),
        Field("trace", { $0.trace }, { $0.trace = $1 }, omitting: [], "The steps so far, in order."),
        Field(
            "microseconds",
            { $0.microseconds },
            { $0.microseconds = $1 },
            "The time from the request to its end; absent as long as the request has no outcome."
        ),
        .error,
        .message
    )
}
