internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// One URL on its way to an application of the desktop, or to the command of a handler.
///
/// A request belongs to the router's actor.
final class ApplicationRequest {
    let url: GenericURL
    /// The application, or a handler with a command.
    let claimant: Claimant
    /// The desktop entry of the application: the claimant itself, or the entry that the manifest of a handler names. Nil for any other
    /// handler, and for an entry that is not there.
    let application: DesktopEntry?
    let options: OpenOptions
    /// The number of openings that led to this request.
    let hops: UInt32
    /// The process that asks for the open; nil if the URL comes from the queue, or if the process is not known.
    let caller: UInt32?
    /// The application that the request is counted to.
    let account: String
    /// The request as others see it; nil if nobody looks.
    var observed: Observation?
    /// Whether the application has got the URL, so that it may have acted on the URL.
    var wasHandedOver = false
    /// The time at which the router accepted the request, in microseconds of `TracePhase.now`.
    let accepted = TracePhase.now
    /// The time limit of the whole open.
    let timeout: Duration
    /// The latest time of the sender's answer.
    let deadline: ContinuousClock.Instant

    var id: String { claimant.id }

    /// The name of the application's desktop entry; that of the claimant if there is no entry.
    var applicationID: String { application?.id.rawValue ?? id }

    init(
        _ url: GenericURL,
        _ claimant: Claimant,
        _ application: DesktopEntry?,
        _ options: OpenOptions,
        hops: UInt32,
        caller: UInt32? = nil,
        account: String = "",
        timeout: Duration
    ) {
        self.url = url
        self.hops = hops
        self.caller = caller
        self.account = account
        self.claimant = claimant
        self.application = application
        self.options = options
        self.timeout = timeout
        deadline = .now + timeout
    }

    /// Whether the caller has cancelled the request.
    private(set) var isCancelled = false

    /// Ends the request at its next step. A command that runs already keeps the URL.
    func cancel(_ stop: Stop?) {
        isCancelled = true
        stop?.abandon()
    }

    /// The outcome of a cancelled request.
    var cancellation: OpenURLError {
        wasHandedOver
            ? OpenURLError(.cancelled, "the request was cancelled; \(id) has the URL and may still open it")
            : .withdrawn
    }

    /// The rest of the time limit.
    var left: Duration { ContinuousClock.now.duration(to: deadline) }

    /// A phase that is reached now.
    func phase(_ name: String) -> TracePhase {
        let phase = TracePhase(name, since: accepted)
        observed?.reach(phase)
        return phase
    }

    func result(_ way: OpenResult.Way, _ trace: [TracePhase]) -> OpenResult {
        OpenResult(handler: id, way: way, reply: [:], trace: trace)
    }
}
