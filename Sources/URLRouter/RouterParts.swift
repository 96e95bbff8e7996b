internal import DBus
internal import Logging
internal import Reactor
internal import SchemeRegistry

/// The things that a router is made of, and that a test may replace.
struct RouterParts {
    let registry: Registry
    let bus: any RouterBus
    let loop: EventLoop
    let environment: [String: String]
    let limits: RouterLimits
    /// Also gets the output of handlers, if journald does not take it.
    let log: Logger
    /// The store of the queue; nil if the router stores nothing.
    var deliveries: DeliveryStore?
    /// The store of the rules; nil for no rules.
    var policy: PolicyStore?
    /// The log of the requests; nil if the router keeps none.
    var requests: RequestLog?
    /// The socket beside the bus; nil without a bus.
    var lane: Lane?
    /// The environment of the session; nil for that of the router.
    var session: SessionEnvironment?
    /// The units of the processes; nil without systemd.
    var scopes: ProcessScopes?
    /// The unique name of the router.
    var uniqueName: BusName?
    /// Makes the way to the person.
    var person: (HandlerLauncher) -> any PersonAsking = { _ in Nobody() }
    /// Decides whether the owner of a handler's name is the handler; nil for the rules of the router.
    var examine: (@Sendable (HandlerLauncher, UInt32?, Handler) async -> OwnerClaim?)?
}
