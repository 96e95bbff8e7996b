internal import DBus
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor

/// The parts of the router that all sessions share.
///
/// Like the sessions, it belongs to the router's actor.
final class SharedParts {
    let bus: any RouterBus
    let signals: any RouterSignals
    let launcher: HandlerLauncher
    let loop: EventLoop
    let limits: RouterLimits
    let log: Logger
    let tasks: RouterTasks
    let launches: LaunchAnnouncer
    let focusTokens = FocusTokens()
    /// Reports to a handler's session, on the event loop, that the owner of its name has changed.
    let ownerChanged: @Sendable (_ id: BusName, _ owner: BusName?) -> Void
    /// Called after a handler has come to the foreground, has left it, or has changed there between active and inactive.
    let foregroundChanged: (_ id: BusName) -> Void
    /// Called after a handler has begun or ended to run.
    let runningChanged: (_ id: BusName) -> Void
    /// The handlers in the foreground: at most one, except while another takes its place.
    var foreground: Set<BusName> = []
    /// The handler that has the user's focus, if a program reports it.
    var focused: BusName?
    /// Processes that have started handlers' programs and have claimed schemes for them, by handler.
    var runners: [BusName: ProcessIdentity] = [:]
    /// Called when a handler's process has ended, neither with status 0 nor because the user wanted that. Also gets
    /// whether the router has killed it, as it does if a process hangs. The status of a process that this router did not
    /// start is unknown, and so no failure.
    var processFailed: (_ id: BusName, _ wasKilled: Bool) -> Void = { _, _ in }
    /// Whether the router is exiting, so that it no longer stops any process.
    var isEnding = false
    /// The sessions of all handlers. They hold this object, so a strong reference would create a cycle.
    private weak var sessions: HandlerSessions?

    init(
        bus: any RouterBus,
        signals: any RouterSignals,
        launcher: HandlerLauncher,
        loop: EventLoop,
        limits: RouterLimits,
        log: Logger,
        tasks: RouterTasks,
        resources: Explainer.ResourceFinder? = nil,
        ownerChanged: @escaping @Sendable (BusName, BusName?) -> Void,
        foregroundChanged: @escaping (BusName) -> Void,
        runningChanged: @escaping (BusName) -> Void
    ) {
        self.bus = bus
        self.signals = signals
        self.launcher = launcher
        self.loop = loop
        self.limits = limits
        self.log = log
        self.tasks = tasks
        launches = LaunchAnnouncer(signals, tasks, resources)
        self.ownerChanged = ownerChanged
        self.foregroundChanged = foregroundChanged
        self.runningChanged = runningChanged
    }

    /// Connects this object to its sessions.
    func connect(_ sessions: HandlerSessions) {
        self.sessions = sessions
    }

    /// Removes the secrets of a handler's latest URLs, no matter who sent them, from a string that the handler has
    /// written.
    func withoutSecrets(_ text: QuotingText, of id: BusName) -> QuotingText {
        launcher.output.withoutSecrets(text, of: id.rawValue)
    }

    /// Turns an error with which a handler has answered into the error for the caller. A traceback is too long for that,
    /// and belongs in the handler's output.
    ///
    /// - Parameter subject: what the handler has declined.
    func declined(by id: BusName, _ error: RemoteError, subject: QuotingText) -> OpenURLError {
        let limit = limits.errorBytes
        let refusal = OpenURLError.declined(by: "\(id)", error, cutTo: limit, subject: subject)
        guard let traceback = PythonException(error)?.traceback else { return refusal }
        // A long traceback ends with the exception.
        launcher.output.add(String(decoding: traceback.utf8.suffix(limit), as: UTF8.self), to: id.rawValue)
        return OpenURLError(refusal.code, "\(refusal); 'openurl output \(id)' shows the traceback")
    }

    /// Moves all handlers but one from the foreground to the background.
    func clearForeground(except staying: BusName? = nil) {
        for id in foreground where id != staying { sessions?[id]?.handle(.losesForeground) }
    }
}
