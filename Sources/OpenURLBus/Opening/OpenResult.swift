public import DBus

/// The result of opening a URL: the `result` of `OpenURL`.
public struct OpenResult: Sendable, Hashable {
    /// The ways in which the router reaches a handler.
    public enum Way: String, Sendable, Hashable, CaseIterable {
        /// The handler was not running, and the router started it. If it is an application's command, it is still
        /// running.
        case launched
        /// The handler was suspended, and the router woke it.
        case woken
        /// The handler was in the foreground, or is a program that has no background state.
        case active
        /// The handler was running in the background.
        case background
        /// The application's command exited with status 0. It did all its work, or handed the URL to an instance that
        /// was already running.
        case completed
        /// The router stored the URL and will deliver it later.
        case queued
        /// The router has shown the URL's notification. If the user clicks on it, the URL is queued again.
        case notified
        /// The URL had no handler, so one of the fallback URLs was opened.
        case fallback
        /// A program was waiting for the URL with ``CallbackInterface/request``, and has it now. For a
        /// ``RouterInterface/call``: the handler answered by opening `x-success`.
        case callback
    }

    /// Bundle identifier of the handler that took the URL. If the URL was queued, this is the handler that would get
    /// the URL now.
    public var handler: String
    /// The way in which the router reached the handler.
    public var way: Way
    /// The values in the handler's answer. A descriptor among them belongs to this program, and is closed when its last
    /// reference is gone.
    public var reply: [String: Value]
    /// The steps taken to open the URL, in order.
    public var trace: [TracePhase]

    /// Whether a router started the process that took the URL. If not, the handler's program was started by hand.
    public var isVerified = true

    /// Whether the handler's process still runs an earlier program, because it is in use and its file has been replaced.
    public var runsEarlierProgram = false

    /// The number of a URL that was queued; see ``QueueInterface``.
    public var id: String?

    /// The request's ID, which the handler gets in ``OpenContext/requestID``.
    public var requestID: String?

    /// Creates a result.
    public init(handler: String, way: Way, reply: [String: Value], trace: [TracePhase]) {
        self.handler = handler
        self.way = way
        self.reply = reply
        self.trace = trace
    }
}

extension OpenResult: Record {
    package static let fields = FieldList(
        initial: OpenResult(handler: "", way: .active, reply: [:], trace: []),
        incomplete: "a result without a handler or a way",
        Field(
            "handler",
            { $0.handler },
            { $0.handler = $1 },
            isRequired: true,
            "The bundle identifier of the handler that took the URL, or that would get the queued URL now."
        ),
        Field(
            "way",
            { $0.way },
            { $0.way = $1 },
            isRequired: true,
            "The way in which the router reached the handler."
        ),
        Field(
            "verified",
            { $0.isVerified },
            { $0.isVerified = $1 },
            omitting: true,
            "False if the handler's program was started by hand; without the key, a router started the process."
        ),
        Field(
            "earlier-program",
            { $0.runsEarlierProgram },
            { $0.runsEarlierProgram = $1 },
            omitting: false,
            "True if the handler's process is in use and is still running an earlier version of the program; a restart starts the new one."
        ),
        Field("id", { $0.id }, { $0.id = $1 }, "The number of a URL that was queued."),
        Field(
            "request-id",
            { $0.requestID },
            { $0.requestID = $1 },
            "The name of the request, which the handler gets in its context."
        ),
        Field(
            "reply",
            { $0.reply },
            { $0.reply = $1 },
            "The values with which the handler answered; at most \(Value.maximumDescriptors) descriptors."
        ),
        Field("trace", { $0.trace }, { $0.trace = $1 }, omitting: [], "The steps taken to open the URL, in order.")
    )
}

extension OpenResult.Way: Word {
    package static func problem(with word: String) -> String { "'\(word)' is not a way" }
}
