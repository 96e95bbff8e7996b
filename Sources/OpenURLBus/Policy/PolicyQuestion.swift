/// A question to the user: the `question` of `Question`.
public struct PolicyQuestion: Sendable, Hashable {
    /// The URL in question, which may be one of the fallback URLs.
    public var url: String
    /// The program that the URL comes from, as verified by the router, in words.
    public var sender: String
    /// The handler or application that would get the URL, in words.
    public var handler: String
    /// Permission to open the URL; see ``OpenOptions/permission``.
    public var permission: String
    /// Whether the router can remember the answer.
    public var isMemorable: Bool

    /// Creates a question.
    public init(url: String, sender: String, handler: String, permission: String, isMemorable: Bool) {
        self.url = url
        self.sender = sender
        self.handler = handler
        self.permission = permission
        self.isMemorable = isMemorable
    }
}

extension PolicyQuestion: Record {
    package static let fields = FieldList(
        initial: PolicyQuestion(url: "", sender: "", handler: "", permission: "", isMemorable: false),
        incomplete: "a question without a URL or a permission",
        Field("url", { $0.url }, { $0.url = $1 }, isRequired: true, "The URL; it may be one of the fallback URLs."),
        Field("sender", { $0.sender }, { $0.sender = $1 }, "The program that the URL comes from, in words."),
        Field("handler", { $0.handler }, { $0.handler = $1 }, "The handler that would get the URL, in words."),
        Field(
            "permission",
            { $0.permission },
            { $0.permission = $1 },
            isRequired: true,
            "The value of the option `permission` that opens the URL once, on the same connection."
        ),
        Field(
            "memorable",
            { $0.isMemorable },
            { $0.isMemorable = $1 },
            "Whether `Remember` can keep the answer for later URLs."
        )
    )
}
