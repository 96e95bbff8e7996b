/// A rule in a policy: one of the `rules` of `Rules`.
public struct PolicyRule: Sendable, Hashable {
    /// The callers that the rule applies to; see ``PolicyInterface``.
    public var source: String
    /// The URLs' scheme; `*` for every scheme.
    public var scheme: String
    /// Pattern for the host; nil for every host.
    public var host: String?
    /// The rule's decision.
    public var decision: PolicyDecision
    /// Path of the file that has the rule.
    public var file: String
    /// The rule's line in its file, counted from 1.
    public var line: UInt32
    /// Whether the file is the user's, so that ``PolicyInterface/set`` and ``PolicyInterface/remove`` change the rule.
    public var isUsers: Bool
    /// Whether the rule stands for a line or a file that cannot be used; one of the `problems` of `Rules` says why. If it
    /// is the whole file, ``line`` is 0.
    public var standsForProblem = false

    /// Creates a rule.
    public init(
        source: String,
        scheme: String,
        host: String?,
        decision: PolicyDecision,
        file: String,
        line: UInt32,
        isUsers: Bool
    ) {
        self.source = source
        self.scheme = scheme
        self.host = host
        self.decision = decision
        self.file = file
        self.line = line
        self.isUsers = isUsers
    }
}

extension PolicyRule: Record {
    package static let fields = FieldList(
        initial: PolicyRule(source: "", scheme: "", host: nil, decision: .deny, file: "", line: 0, isUsers: false),
        incomplete: "a rule without a source, a scheme or a decision",
        Field("source", { $0.source }, { $0.source = $1 }, isRequired: true, "The callers that the rule is for."),
        Field(
            "scheme",
            { $0.scheme },
            { $0.scheme = $1 },
            isRequired: true,
            "The scheme that the rule is for; `*` for every scheme."
        ),
        Field(
            "host",
            { $0.host },
            { $0.host = $1 },
            "The pattern for the host; without the key the rule is for every host."
        ),
        Field("decision", { $0.decision }, { $0.decision = $1 }, isRequired: true, "The decision."),
        Field("file", { $0.file }, { $0.file = $1 }, "The path of the rule's file."),
        Field("line", { $0.line }, { $0.line = $1 }, "The number of the rule's line, from 1."),
        Field(
            "changeable",
            { $0.isUsers },
            { $0.isUsers = $1 },
            "Whether the file is the user's; the administrator's rules can only be changed in their files."
        ),
        Field(
            "stands-for-problem",
            { $0.standsForProblem },
            { $0.standsForProblem = $1 },
            omitting: false,
            "True if the rule stands for a line or a file that cannot be used; for a file, the line is 0."
        )
    )
}
