/// Where a handler's output goes, as ``LifecycleInterface/output`` returns it. If there is neither a file nor a
/// journal, the output is lost.
public struct OutputPlace: Sendable, Hashable {
    /// The path of the file, which need not exist yet; nil if the output is not in a file.
    public var file: String?
    /// The identifier of the lines in the user's journal (`SYSLOG_IDENTIFIER`); nil if the output is not there.
    public var journal: String?
    /// Whether the running process's output goes elsewhere, because another program started the process. In that case,
    /// the place is the one that earlier processes used.
    public var isElsewhere = false

    /// Creates a place.
    public init(file: String? = nil, journal: String? = nil) {
        self.file = file
        self.journal = journal
    }
}

extension OutputPlace: Record {
    package static let fields = FieldList(
        initial: OutputPlace(),
        Field("file", { $0.file }, { $0.file = $1 }, "The path of the file, which need not exist yet."),
        Field(
            "journal",
            { $0.journal },
            { $0.journal = $1 },
            "The identifier of the lines in the user's journal (`SYSLOG_IDENTIFIER`)."
        ),
        Field(
            "elsewhere",
            { $0.isElsewhere },
            { $0.isElsewhere = $1 },
            omitting: false,
            "True if another program started the running process, in which case its output goes elsewhere."
        )
    )
}
