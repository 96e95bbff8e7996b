internal import DBus
internal import Desktop
internal import OpenURLBus

/// One URL on its way to an application of the desktop's.
struct ApplicationRequest {
    let url: String
    let application: DesktopEntry
    let options: OpenOptions
    /// Where somebody wants to know whether the application had it.
    var handover: Handover?
    /// How many openings led to this one.
    var hops: UInt32 = 0
    /// When the router accepted it, in microseconds of `TracePhase.now`.
    let accepted = TracePhase.now
    /// How long the whole open may take.
    let timeout: Duration
    /// When the sender gets an answer at the latest.
    let deadline: ContinuousClock.Instant

    var id: DesktopFileID { application.id }

    init(_ url: String, _ application: DesktopEntry, _ options: OpenOptions, timeout: Duration) {
        self.url = url
        self.application = application
        self.options = options
        self.timeout = timeout
        deadline = .now + timeout
    }

    /// What is left of the time.
    var left: Duration { ContinuousClock.now.duration(to: deadline) }

    /// A phase that is reached now.
    func phase(_ name: String) -> TracePhase { TracePhase(name, since: accepted) }

    func result(_ path: OpenResult.Path, _ trace: [TracePhase]) -> OpenResult {
        OpenResult(handler: id.rawValue, path: path, reply: [:], trace: trace)
    }
}

extension URLRouter {
    /// Opens a URL with an application of the desktop's, by the way that its entry asks for.
    func open(_ request: ApplicationRequest) async throws(OpenURLError) -> OpenResult {
        if request.application.isDBusActivatable { return try await openOverTheBus(request) }
        return try await start(request)
    }
}
