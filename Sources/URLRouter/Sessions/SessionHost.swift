internal import DBus
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor

/// The part of the router that the sessions use.
///
/// A host belongs to the router's actor, like the sessions.
final class SessionHost {
    let bus: any RouterBus
    let launcher: HandlerLauncher
    let loop: EventLoop
    let limits: RouterLimits
    let log: Logger
    let tasks: RouterTasks
    /// Tells the session of a handler, on the event loop, that the owner of the handler's name has changed.
    let ownerChanged: @Sendable (_ id: BusName, _ owner: BusName?) -> Void
    /// The handlers in the foreground: at most one, except while another takes its place.
    var foreground: Set<BusName> = []
    /// The processes that have started programs of handlers and have claimed schemes for them, by handler.
    var runners: [BusName: ProcessIdentity] = [:]
    /// Whether the router ends, so that it stops no process any more.
    var isEnding = false
    /// The sessions of all handlers. The table holds the host, so a strong reference would be a cycle.
    private weak var sessions: HandlerSessions?

    init(
        bus: any RouterBus,
        launcher: HandlerLauncher,
        loop: EventLoop,
        limits: RouterLimits,
        log: Logger,
        tasks: RouterTasks,
        ownerChanged: @escaping @Sendable (BusName, BusName?) -> Void
    ) {
        self.bus = bus
        self.launcher = launcher
        self.loop = loop
        self.limits = limits
        self.log = log
        self.tasks = tasks
        self.ownerChanged = ownerChanged
    }

    /// Connects the host to the table of its sessions.
    func connect(_ sessions: HandlerSessions) {
        self.sessions = sessions
    }

    /// Returns a text that a handler has written, without the secrets of its latest URLs. The text may be about a URL of any
    /// sender.
    func withoutSecrets(_ text: QuotingText, of id: BusName) -> QuotingText {
        launcher.output.withoutSecrets(text, of: id.rawValue)
    }

    /// Takes the handlers in the foreground to the background, except the one that stays.
    func clearForeground(except staying: BusName? = nil) {
        for id in foreground where id != staying { sessions?[id]?.handle(.losesForeground) }
    }
}
