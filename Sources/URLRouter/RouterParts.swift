internal import DBus
internal import Logging
internal import Reactor
internal import SchemeRegistry

/// Everything that makes up a router and that a test may replace.
struct RouterParts {
    let registry: Registry
    let bus: any RouterBus
    let signals: any RouterSignals
    let loop: EventLoop
    let environment: [String: String]
    let limits: RouterLimits
    /// A log that also gets the handlers' output if journald does not take it.
    let log: Logger
    /// The router's files.
    var stores = RouterStores()
    /// Asks sites for proofs; nil for the program `openurl-proofs`.
    var sites: (any SiteAsking)?
    /// The path of the program that lets the person choose how to open a link; nil if there is none.
    var chooser: String?
    /// The router's own socket beside the bus; nil without a bus.
    var lane: Lane?
    /// The session's environment; nil for the router's own.
    var session: SessionEnvironment?
    /// Starts programs as systemd's services; nil without a bus to reach systemd.
    var services: ProcessServices?
    /// The router's unique name.
    var uniqueName: BusName?
    /// Finds the names and the images to show to people; nil if there are none.
    var resources: Explainer.ResourceFinder?
    /// The bus that reports on the machine and on the user's login session; nil if the router does not ask.
    var systemBus: BusAddress?
    /// The session bus, for signals of the desktop; nil if the router does not follow any.
    var sessionBus: Connection?
    /// The services on the session bus that the router calls and believes; nil without a bus.
    var serviceOwners: ServiceOwners?
    /// Makes the object that asks the user.
    var person: (HandlerLauncher) -> any PersonAsking = { _ in Nobody() }
    /// Makes the object that shows reminders to the user.
    var reminders: (HandlerLauncher, RouterTasks) -> any ReminderShowing = { _, _ in NoDesktop() }
    /// Decides whether the process that owns a handler's name is the handler; nil for the router's own rules.
    var examine: (@Sendable (OwnerRecognition, UInt32?, Handler) async -> OwnerClaim?)?
}
