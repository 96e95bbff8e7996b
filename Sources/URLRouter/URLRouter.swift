public import DBus
internal import Desktop
public import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
public import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Takes URLs to the handlers of their schemes: launches or wakes a handler, delivers the URL, and answers the sender.
///
/// A request belongs to the router from the moment it arrives, and continues when its sender has gone. Requests for one
/// handler are delivered in the order of their arrival, across all callers. Every request ends within its time limit: with
/// the handler's answer, or with one `OpenURLError`.
///
/// The router runs on the event loop of its connection. Between a message and the decision about it there is no change of
/// threads, and the order of decisions is the order of arrival.
///
/// The router itself only connects its parts, and each part has its own folder: ``HandlerSession`` runs one handler,
/// ``ApplicationOpener`` reaches the desktop's applications, ``DeliveryScheduler`` delivers later, and ``Callers`` knows the
/// callers. The parts are not Sendable and share the router's isolation. Only an actor can start a task in its own isolation,
/// so the parts start theirs through ``RouterTasks``.
public actor URLRouter {
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let loop: EventLoop
    let bus: any HandlerBus
    /// The socket beside the bus; nil in tests without a bus.
    let lane: Lane?
    let launcher: HandlerLauncher
    let limits: RouterLimits
    let log: Logger
    private let deliveryStore: DeliveryStore?
    private let requestLog: RequestLog?
    private let commandHops: CommandHops
    let policyStore: PolicyStore?
    private let person: any PersonAsking

    /// The handlers of the files, and those that the router has in memory.
    private(set) var snapshot: RegistrySnapshot
    /// The handlers of the files alone.
    private var declared: RegistrySnapshot
    /// The handlers that the router has in memory.
    let temporary: TemporaryHandlers
    /// The names for which the bus was asked whether it knows their services.
    var announcedServices: Set<String> = []

    /// The last time at which a caller asked to relieve memory.
    var lastRelief: ContinuousClock.Instant?

    private(set) lazy var sessions = makeSessions()
    private(set) lazy var callers = Callers(bus, limits, sessions, commandHops)
    /// The kinds of the files that callers open.
    let files: FileKinds
    /// The copies of files into inboxes.
    let inboxes: Inboxes
    let handles = RequestHandles()
    private(set) lazy var callbacks = Callbacks(bus, handles, limits, loop, RouterTasks(of: self))
    private(set) lazy var calls = Calls(bus, limits, loop)
    var requestNames = RequestNames()
    private(set) lazy var subscriptions = Subscriptions(bus, limit: limits.subscribers) { [bus] in
        bus.setSubscribers($0)
    }
    /// The requests on their way, for the log and for those who watch.
    private(set) lazy var monitor = Monitor(bus, loop, limits, RouterTasks(of: self), log: requestLog)
    private(set) lazy var applications = ApplicationOpener(
        bus: bus,
        launcher: launcher,
        loop: loop,
        limits: limits,
        log: log,
        commandHops: commandHops
    )
    private(set) lazy var permissions = Permissions(
        policyStore,
        on: loop,
        tasks: RouterTasks(of: self),
        log: log
    )
    private(set) lazy var questions = Questions(person, permissions, limits, RouterTasks(of: self))
    /// The deliveries for later; nil without a place to store them.
    private(set) lazy var deliveries = makeDeliveries()

    /// Creates a router.
    ///
    /// - Parameters:
    ///   - connection: the session bus; its event loop becomes the router's.
    ///   - deliveries: the store of the queue; nil if the router stores nothing.
    ///   - policy: the store of the rules; nil for no rules.
    ///   - requests: the log of the requests; nil if the router keeps none.
    ///   - environment: the router's own environment; handlers inherit it without the variables that were meant for the
    ///     router alone, and with those that systemd's manager has now.
    ///   - log: also gets the output of handlers, if journald does not take it.
    public init(
        registry: Registry,
        connection: Connection,
        environment: [String: String],
        limits: RouterLimits = RouterLimits(),
        deliveries: DeliveryStore? = nil,
        policy: PolicyStore? = nil,
        requests: RequestLog? = nil,
        log: Logger
    ) {
        let lane = Lane(beside: connection)
        self.init(
            registry: registry,
            bus: ConnectedHandlers(connection: connection, lane: lane),
            lane: lane,
            loop: connection.loop,
            environment: environment,
            session: SessionEnvironment(environment, from: connection, on: connection.loop, log: log),
            scopes: ProcessScopes(connection, log: log),
            limits: limits,
            deliveries: deliveries,
            policy: policy,
            requests: requests,
            person: { DesktopPerson(connection: connection, launcher: $0, log: log) },
            uniqueName: connection.uniqueName,
            log: log
        )
    }

    init(
        registry: Registry,
        bus: any HandlerBus,
        lane: Lane? = nil,
        loop: EventLoop,
        environment: [String: String],
        session: SessionEnvironment? = nil,
        scopes: ProcessScopes? = nil,
        limits: RouterLimits,
        deliveries: DeliveryStore? = nil,
        policy: PolicyStore? = nil,
        requests: RequestLog? = nil,
        person: (HandlerLauncher) -> any PersonAsking = { _ in Nobody() },
        examine: (@Sendable (HandlerLauncher, UInt32?, Handler) async -> OwnerClaim?)? = nil,
        uniqueName: BusName? = nil,
        log: Logger
    ) {
        declared = RegistrySnapshot(number: 0, registry: registry)
        snapshot = declared
        temporary = TemporaryHandlers(limit: limits.temporaryHandlers)
        self.bus = bus
        self.lane = lane
        self.loop = loop
        self.limits = limits
        self.log = log
        deliveryStore = deliveries
        requestLog = requests
        policyStore = policy
        commandHops = CommandHops(for: limits.commandPeriod)
        let directories = DesktopDirectories(environment: environment)
        files = FileKinds(directories, limits, on: loop)
        inboxes = Inboxes(dataHome: directories.dataHome, limits, on: loop)
        launcher = HandlerLauncher(
            session: session ?? SessionEnvironment(environment, on: loop, log: log),
            loop: loop,
            output: HandlerOutput(
                in: BaseDirectories(environment: environment).stateHome.map { "\($0)/openurl/output" },
                on: loop,
                log: log
            ),
            scopes: scopes,
            records: ProcessRecords(environment: environment, log: log),
            router: uniqueName,
            examine: examine
        )
        self.person = person(launcher)
    }

    private func makeSessions() -> HandlerSessions {
        let host = SessionHost(
            bus: bus,
            launcher: launcher,
            loop: loop,
            limits: limits,
            log: log,
            tasks: RouterTasks(of: self),
            // A watch of a name may still tell about a change when the router has been released.
            ownerChanged: { [weak self] id, owner in
                self?.assumeIsolated { $0.sessions[id]?.ownerChanged(to: owner) }
            }
        )
        return HandlerSessions(host)
    }

    private func makeDeliveries() -> DeliveryScheduler? {
        guard let deliveryStore else { return nil }
        return DeliveryScheduler(
            deliveryStore,
            bus: bus,
            loop: loop,
            limits: limits,
            log: log,
            tasks: RouterTasks(of: self),
            open: { [unowned self] delivery, id, attempt in await self.attempt(delivery, named: "\(id)", attempt) },
            quarantine: { [unowned self] in
                guard let left = BusName($0).flatMap({ sessions[$0]?.quarantine }) else { return nil }
                // Rounded up, so that the next attempt is not too early.
                return left + .milliseconds(1)
            }
        )
    }

    /// Starts a task in the router's isolation and runs it up to its first suspension. ``RouterTasks`` calls this.
    func start(_ body: @escaping () async -> Void) -> Task<Void, Never> {
        Task.immediate(executorPreference: loop) {
            _ = self
            await body()
        }
    }

    /// The registry that the router uses now.
    var registry: Registry { snapshot.registry }

    /// Uses another registry from now on; running handlers continue. A stale snapshot is ignored.
    ///
    /// - Returns: the schemes whose URLs go to another handler than before, to be announced. After a stale snapshot they are
    ///   the changes recorded when it was read.
    func use(_ snapshot: RegistrySnapshot) -> [String] {
        if snapshot.number > declared.number {
            declared = snapshot
            temporary.forgetRegistrations(of: snapshot.registry.handlers)
            combineHandlers()
        }
        return snapshot.changed
    }

    /// Uses the handlers of the files and those in memory from now on.
    private func combineHandlers() {
        let combined = declared.registry.adding(temporary.handlers(apartFrom: declared.registry))
        snapshot = RegistrySnapshot(number: declared.number, registry: combined)
        sessions.use(registry)
        endLostCallbacks()
    }

    /// Changes the handlers that the router has in memory.
    ///
    /// - Returns: the schemes whose URLs go to another handler than before, to be announced.
    func changeTemporary<Failure>(
        _ body: (TemporaryHandlers) throws(Failure) -> Void
    ) throws(Failure) -> [String] {
        let before = registry
        try body(temporary)
        combineHandlers()
        let schemes = Set(before.temporarySchemes + registry.temporarySchemes)
        return registry.schemes(schemes, withWinnersOtherThanIn: before).map(\.rawValue)
    }

    /// Makes requests wait until ``adoptRunning()`` is done, because their sender may be a handler that runs already. Call it
    /// before the name is requested.
    public func prepareToAdopt() {
        callers.hold()
    }

    /// Finds the handlers that run already, for example after the end of another router. Call it when the name is owned.
    public func adoptRunning() async {
        launcher.output.followExisting()
        await findRunning()
        // A handler that was suspended takes its name back when the earlier router ends, perhaps only after this look.
        for id in launcher.records?.removeEnded() ?? [] {
            if let handler = registry.handler(named: id) { await sessions.obtain(for: handler).findProcess() }
        }
        callers.release()
    }

    /// Finds the handlers that run without a session.
    func findRunning() async {
        do throws(CallError) {
            for name in try await bus.names() {
                guard let handler = registry.handler(named: name.rawValue), handler.kind == .native else { continue }
                await sessions.obtain(for: handler).findProcess()
            }
        } catch {
            log.error("the bus does not tell its names: \(error)")
        }
    }

    /// Relieves memory whenever the kernel reports that programs wait for memory. Call it once. A kernel without pressure
    /// information never reports.
    public func watchMemory() {
        do throws(Errno) {
            try PressureWatch.start(on: loop) { [unowned self] in
                assumeIsolated { $0.sessions.relieveMemory() }
            }
        } catch {
            log.debug("memory pressure is not noticed: \(error)")
        }
    }
}
