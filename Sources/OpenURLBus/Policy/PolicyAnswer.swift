/// An answer that the router remembers: one of the `answers` of `Answers`.
public struct PolicyAnswer: Sendable, Hashable {
    /// The callers that the answer applies to: an identifier, a host or a class.
    public var source: String
    /// The URLs' scheme.
    public var scheme: String
    /// The URLs' host; nil for URLs without a host.
    public var host: String?
    /// The handler or application that gets the URLs. The answer does not apply to any other one.
    public var handler: String
    /// Either ``PolicyDecision/allow`` or ``PolicyDecision/deny``.
    public var decision: PolicyDecision
    /// When the answer was given, in seconds since 1970.
    public var date: UInt64
    /// The number of URLs that the answer has been used for.
    public var uses: UInt32
    /// When the answer was last used, in seconds since 1970; nil if it never was.
    public var lastUse: UInt64?

    /// Creates an answer that has not been used.
    public init(
        source: String,
        scheme: String,
        host: String?,
        handler: String,
        decision: PolicyDecision,
        date: UInt64
    ) {
        self.source = source
        self.scheme = scheme
        self.host = host
        self.handler = handler
        self.decision = decision
        self.date = date
        uses = 0
    }
}

extension PolicyAnswer: Record {
    package static let fields = FieldList(
        initial: PolicyAnswer(source: "", scheme: "", host: nil, handler: "", decision: .deny, date: 0),
        incomplete: "an answer without a source, a scheme, a handler or a decision",
        Field("source", { $0.source }, { $0.source = $1 }, isRequired: true, "The callers that the answer is for."),
        Field("scheme", { $0.scheme }, { $0.scheme = $1 }, isRequired: true, "The scheme that the answer is for."),
        Field("host", { $0.host }, { $0.host = $1 }, "The host that the answer is for; without the key, every host."),
        Field(
            "handler",
            { $0.handler },
            { $0.handler = $1 },
            isRequired: true,
            "The handler or application that gets the URLs."
        ),
        Field("decision", { $0.decision }, { $0.decision = $1 }, isRequired: true, "The answer: `allow` or `deny`."),
        Field("date", { $0.date }, { $0.date = $1 }, "The time of the answer, in seconds since 1970."),
        Field("uses", { $0.uses }, { $0.uses = $1 }, "The number of URLs that the answer has been used for."),
        Field("last-use", { $0.lastUse }, { $0.lastUse = $1 }, "The time of the last use, in seconds since 1970.")
    )
}
