/// A selection of entries: the `filter` of ``MonitorInterface/log``.
public struct MonitorFilter: Sendable, Hashable {
    /// The URL's scheme; case does not matter.
    public var scheme: String?
    /// Identifier of the handler or application.
    public var handler: String?
    /// The request's source: its identifier, its path, or the name of its program.
    public var source: String?
    /// The request's ID.
    public var requestID: String?
    /// Whether to select only requests that failed.
    public var isForFailures = false
    /// Earliest time of an entry, in microseconds since 1970.
    public var since: UInt64?
    /// Time before which every entry began, in microseconds since 1970.
    public var before: UInt64?
    /// Maximum number of entries, at most ``MonitorInterface/pageSize``.
    public var limit: UInt32?

    /// Creates a filter that selects every entry.
    public init() {}

    /// Returns whether the filter selects an entry, regardless of ``limit``.
    public func matches(_ entry: MonitorEntry) -> Bool {
        if isForFailures, entry.errorFields.error == nil { return false }
        if let since, entry.time < since { return false }
        if let before, entry.time >= before { return false }
        if let handler, entry.handler != handler { return false }
        if let requestID, entry.requestID != requestID { return false }
        if let source, entry.source != source, entry.source?.hasSuffix("/\(source)") != true { return false }
        return scheme.map { $0.lowercased() == entry.scheme } ?? true
    }
}

extension MonitorFilter: Record {
    package static let fields = FieldList(
        initial: MonitorFilter(),
        Field("scheme", { $0.scheme }, { $0.scheme = $1 }, "The scheme of the URL; case does not matter."),
        Field("handler", { $0.handler }, { $0.handler = $1 }, "The identifier of the handler or application."),
        Field(
            "source",
            { $0.source },
            { $0.source = $1 },
            "The source: its identifier, its path, or the name of its program."
        ),
        Field("request-id", { $0.requestID }, { $0.requestID = $1 }, "The name of the request."),
        Field(
            "failed",
            { $0.isForFailures },
            { $0.isForFailures = $1 },
            omitting: false,
            "Whether only requests that have failed are selected."
        ),
        Field("since", { $0.since }, { $0.since = $1 }, "The earliest time of an entry, in microseconds since 1970."),
        Field(
            "before",
            { $0.before },
            { $0.before = $1 },
            "The time before which every entry began, in microseconds since 1970."
        ),
        Field(
            "limit",
            { $0.limit },
            { $0.limit = $1 },
            "The maximum number of entries, at most \(MonitorInterface.pageSize)."
        )
    )
}
