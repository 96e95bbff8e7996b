public import DBus
internal import Desktop
public import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
public import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Takes URLs to the handlers for their schemes: launches or wakes a handler, delivers the URL, and answers the sender.
///
/// From the moment a request arrives it belongs to the router, and continues even if its sender exits. All requests for
/// one handler are delivered in the order of their arrival, no matter who sent them. Every request ends within its time
/// limit, either with the handler's answer or with one `OpenURLError`.
///
/// The router runs on its connection's event loop. Because it does not switch threads between a message and the
/// decision about it, decisions are made in the order of arrival.
///
/// The router itself only connects, starts and stops its parts, each of which has its own folder: ``Opener`` takes a URL
/// through its stages, ``HandlerSession`` runs one handler, ``ApplicationOpener`` reaches the desktop's applications,
/// ``DeliveryScheduler`` makes later deliveries, and ``Callers`` knows the callers. They are not Sendable, and share
/// the router's isolation. Only an actor can start a task in its own isolation, so the parts start theirs through
/// ``RouterTasks``.
public actor URLRouter {
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let loop: EventLoop
    let bus: any RouterBus
    let signals: any RouterSignals
    let launcher: HandlerLauncher
    let limits: RouterLimits
    let log: Logger
    private let commandHops: CommandHops
    private let parts: RouterParts

    /// All handlers that the router knows.
    private(set) lazy var handlers: KnownHandlers = makeHandlers()

    private(set) lazy var sessions: HandlerSessions = makeSessions()
    private(set) lazy var callers: Callers = Callers(bus, limits, sessions, commandHops)
    /// Looks up the types of the files that callers open.
    let files: FileKinds
    /// Copies files into inboxes.
    let inboxes: Inboxes
    let handles = RequestHandles()
    private(set) lazy var callbacks: Callbacks = Callbacks(
        bus,
        signals,
        handles,
        handlers,
        permissions,
        limits,
        loop,
        RouterTasks(of: self)
    )
    private(set) lazy var waitingCalls = WaitingCalls(bus, sessions, limits, loop, RouterTasks(of: self))
    private(set) lazy var calls = Calls(opener, waitingCalls, callbacks, handles, callers, RouterTasks(of: self))
    private(set) lazy var subscriptions = Subscriptions(
        bus,
        callers,
        RouterTasks(of: self),
        limit: limits.subscribers,
        changed: { [signals] in signals.setSubscribers($0) }
    )
    /// The requests on their way, for the log and for programs that watch them.
    private(set) lazy var monitor = Monitor(
        bus,
        signals,
        callers,
        loop,
        limits,
        RouterTasks(of: self),
        log: parts.stores.requests
    )
    private(set) lazy var applications = ApplicationOpener(
        bus: bus,
        launcher: launcher,
        loop: loop,
        limits: limits,
        log: log,
        commandHops: commandHops
    )
    private(set) lazy var permissions: Permissions = Permissions(
        parts.stores.policy,
        on: loop,
        tasks: RouterTasks(of: self),
        log: log
    )
    private(set) lazy var links = LinkRouting(
        parts.stores.links,
        handlers,
        launcher,
        permissions,
        LinkChooser(launcher, program: parts.chooser, limits, RouterTasks(of: self)),
        limits,
        log: log
    )
    private(set) lazy var questions = Questions(parts.person(launcher), permissions, limits, RouterTasks(of: self))
    /// The notifications on the screen.
    private lazy var screen = ShownReminders(parts.reminders(launcher, RouterTasks(of: self)))
    /// Shows the URLs in the queue that have a text for a notification.
    private(set) lazy var reminders: Reminders = makeReminders()
    /// Later deliveries; nil if there is nowhere to store them.
    private(set) lazy var deliveries: DeliveryScheduler? = makeDeliveries()

    private(set) lazy var destinations: Destinations = Destinations(handlers, links, provenLinks, files, inboxes)
    /// Takes URLs through their stages.
    private(set) lazy var opener: Opener = Opener(
        Opener.Parts(
            handlers: handlers,
            sessions: sessions,
            applications: applications,
            deliveries: deliveries,
            callbacks: callbacks,
            calls: waitingCalls,
            callers: callers,
            destinations: destinations,
            links: links,
            provenLinks: provenLinks,
            permissions: permissions,
            questions: questions,
            monitor: monitor,
            limits: limits,
            tasks: RouterTasks(of: self),
            checkHost: { [unowned self] (host, sender) throws(OpenURLError) in try hosts.check(host, from: sender) }
        )
    )
    /// URLs to other hosts and from other hosts.
    private(set) lazy var hosts: Hosts = Hosts(
        opener,
        deliveries,
        callers,
        Bridge(parts.serviceOwners),
        launcher,
        systemBus,
        limits,
        RouterTasks(of: self),
        parts.stores.hosts
    )

    private(set) lazy var openCalls = OpenCalls(opener, handles, callers, signals)
    private(set) lazy var callbackRequests = CallbackRequests(
        opener,
        callbacks,
        handles,
        callers,
        RouterTasks(of: self)
    )
    private(set) lazy var relays = Relays(openCalls, callbackRequests, destinations, permissions)
    private(set) lazy var lifecycle = HandlerLifecycle(
        handlers,
        sessions,
        applications,
        deliveries,
        callers,
        monitor
    )
    private(set) lazy var systemBus = SystemBus(parts.systemBus, on: loop, RouterTasks(of: self), log: log)
    private(set) lazy var interruptions = Interruptions(lifecycle, callers, RouterTasks(of: self), systemBus)
    private(set) lazy var focus = Focus(lifecycle, RouterTasks(of: self))
    private(set) lazy var observedChanges = ObservedChanges(sessions, systemBus, parts.sessionBus)
    private(set) lazy var outputs = OutputPlaces(handlers, sessions, launcher.output)
    private(set) lazy var temporary = TemporaryRegistrations(
        handlers,
        sessions,
        callers,
        permissions,
        RouterTasks(of: self)
    )
    private(set) lazy var pushes: Pushes = makePushes()
    private(set) lazy var localNotifications: LocalNotifications = makeLocalNotifications()
    private(set) lazy var scheduledTasks = ScheduledTasks(
        handlers,
        sessions,
        callers,
        monitor,
        systemBus,
        parts.stores.tasks
    )
    /// The links to web pages that handlers get instead of the browser.
    private(set) lazy var provenLinks: ProvenLinks = makeProvenLinks()
    private(set) lazy var voipHandlers = VoIPHandlers(
        handlers,
        sessions,
        runtimeDirectory: BaseDirectories(environment: parts.environment).runtimeDirectory
    )
    private(set) lazy var queue = QueueCalls(deliveries, callers)
    private(set) lazy var services = ServiceNames(handlers, sessions.shared)
    private(set) lazy var entries = HandlerEntries(handlers, lifecycle)
    private(set) lazy var explainer = Explainer(
        handlers,
        callers,
        callbacks,
        files,
        permissions,
        destinations,
        provenLinks,
        lifecycle,
        parts.resources
    )
    /// Opens the links of the desktop's portal.
    private(set) lazy var portalChooser = PortalChooser(
        opener,
        callers,
        bus,
        parts.serviceOwners.map(OtherAppChoosers.init),
        launcher,
        log: log
    )
    private(set) lazy var portalBackend = PortalBackend(parts.sessionBus, handlers, RouterTasks(of: self), log: log)
    private(set) lazy var inboxOpener = InboxOpener(opener, inboxes, handlers, callers, permissions, questions)

    /// Creates a router.
    ///
    /// - Parameters:
    ///   - connection: the session bus; its event loop becomes the router's.
    ///   - stores: the router's files.
    ///   - chooser: the path of the program that lets the person choose how to open a link; nil if there is none.
    ///   - store: the registry's files, for the handlers' names and images; nil for a router that shows none.
    ///   - environment: the router's own environment. Handlers inherit it, without the variables that were meant only
    ///     for the router, and with those that systemd's manager currently has.
    ///   - log: also gets the handlers' output if journald does not take it.
    public init(
        registry: Registry,
        connection: Connection,
        environment: [String: String],
        limits: RouterLimits = RouterLimits(),
        stores: RouterStores,
        chooser: String? = nil,
        store: RegistryStore? = nil,
        log: Logger
    ) {
        let lane = Lane(beside: connection)
        var parts = RouterParts(
            registry: registry,
            bus: ConnectedHandlers(connection: connection, lane: lane),
            signals: ConnectedSignals(lane: lane),
            loop: connection.loop,
            environment: environment,
            limits: limits,
            log: log
        )
        parts.stores = stores
        parts.chooser = chooser
        if let store { parts.resources = { await store.resources(of: $0) } }
        parts.lane = lane
        let services = ServiceOwners(connection, log: log)
        parts.session = SessionEnvironment(environment, from: services, on: connection.loop, log: log)
        parts.services = ProcessServices(services, log: log)
        parts.uniqueName = connection.uniqueName
        parts.systemBus = .system
        parts.sessionBus = connection
        parts.serviceOwners = services
        parts.person = { DesktopPerson(services: services, launcher: $0, log: log) }
        parts.reminders = {
            DesktopReminders(services: services, launcher: $0, tasks: $1, limits: limits)
        }
        self.init(parts)
    }

    init(_ parts: RouterParts) {
        self.parts = parts
        bus = parts.bus
        signals = parts.signals
        loop = parts.loop
        limits = parts.limits
        log = parts.log
        commandHops = CommandHops(for: limits.commandPeriod)
        let directories = DesktopDirectories(environment: parts.environment)
        files = FileKinds(directories, limits, on: loop)
        inboxes = Inboxes(dataHome: directories.dataHome, limits, on: loop)
        launcher = HandlerLauncher(
            session: parts.session ?? SessionEnvironment(parts.environment, on: loop, log: log),
            loop: loop,
            output: HandlerOutput(
                in: BaseDirectories(environment: parts.environment).stateHome.map { "\($0)/openurl/output" },
                on: loop,
                log: log,
                journal: parts.environment[HandlerOutput.variable] ?? HandlerOutput.usualJournal
            ),
            services: parts.services,
            records: ProcessRecords(environment: parts.environment, log: log),
            router: parts.uniqueName,
            lookTime: limits.programLookTime,
            examine: parts.examine
        )
    }

    private func makeHandlers() -> KnownHandlers {
        KnownHandlers(parts.registry, signals, limit: limits.temporaryHandlers) { [unowned self] earlier in
            sessions.use(registry)
            callbacks.endLost()
            provenLinks.update()
            deliveries?.registryChanged(from: earlier, to: registry)
        }
    }

    private func makeSessions() -> HandlerSessions {
        let shared = SharedParts(
            bus: bus,
            signals: signals,
            launcher: launcher,
            loop: loop,
            limits: limits,
            log: log,
            tasks: RouterTasks(of: self),
            resources: parts.resources,
            // A watch or a timer may still report a change after the router is released.
            ownerChanged: { [weak self] id, owner in
                self?.assumeIsolated { $0.sessions[id]?.processes.ownerChanged(to: owner) }
            },
            foregroundChanged: { [weak self] id in self?.assumeIsolated { $0.interruptions.foregroundChanged(id) } },
            runningChanged: { [weak self] id in
                self?.assumeIsolated {
                    $0.observedChanges.runningChanged(id)
                    $0.focus.runningChanged(id)
                }
            }
        )
        return HandlerSessions(shared)
    }

    private func makeReminders() -> Reminders {
        Reminders(
            screen,
            handlers,
            log: log,
            tasks: RouterTasks(of: self),
            receiver: { [unowned self] in await opener.receiver(of: $0) },
            deliveries: deliveries
        )
    }

    private func makeDeliveries() -> DeliveryScheduler? {
        guard let store = parts.stores.deliveries else { return nil }
        return DeliveryScheduler(
            store,
            bus: bus,
            signals: signals,
            loop: loop,
            limits: limits,
            log: log,
            tasks: RouterTasks(of: self),
            receivers: { [unowned self] in
                [
                    hosts,
                    pushes,
                    localNotifications,
                    reminders,
                    opener,
                ]
            },
            quarantine: { [unowned self] in sessions.quarantine(of: $0) }
        )
    }

    private func makePushes() -> Pushes {
        Pushes(
            handlers,
            sessions,
            callers,
            bus,
            parts.sessionBus.map(Distributors.init),
            monitor,
            parts.stores.pushes,
            accept: { [unowned self] (delivery) throws(OpenURLError) in
                guard let deliveries else { throw OpenURLError(.notQueued, "there is no directory for the queue") }
                _ = try await deliveries.accept(delivery)
            },
            open: { [unowned self] in await opener.attempt($0, $1, $2) }
        )
    }

    private func makeProvenLinks() -> ProvenLinks {
        let program = SiteQuestions(launcher, environment: parts.environment, log: log)
        return ProvenLinks(handlers, sessions.shared, parts.stores.proofs, parts.sites ?? program)
    }

    private func makeLocalNotifications() -> LocalNotifications {
        LocalNotifications(
            handlers,
            sessions,
            callers,
            monitor,
            screen,
            receiver: { [unowned self] in await opener.receiver(of: $0) },
            deliveries: deliveries
        )
    }

    /// The router's own socket, alongside the bus; nil in tests without a bus.
    var lane: Lane? { parts.lane }

    /// Starts a task in the router's isolation, and runs it up to its first suspension, on behalf of ``RouterTasks``.
    func start(_ body: @escaping () async -> Void) -> Task<Void, Never> {
        loop.startTaskImmediately {
            _ = self
            await body()
        }
    }

    /// The current registry.
    var registry: Registry { handlers.registry }

    /// Switches to another registry of the handlers that were read from files, and announces the change.
    ///
    /// - Parameter isPublishing: whether the bus can start the handlers.
    func use(_ snapshot: RegistrySnapshot, isPublishing: Bool) async {
        let schemes = handlers.use(snapshot)
        if isPublishing { await services.makeActivatable() }
        handlers.announce(schemes)
        portalBackend.registryChanged()
    }

    /// Paths to watch: if one of them changes, the rules or the other hosts change.
    var configurationPaths: Set<String> { permissions.paths.union(links.paths).union(hosts.paths) }

    /// Reads the rules again, the policy's and those for links, and the other hosts.
    ///
    /// - Returns: whether nothing has to be read again because of a temporary error.
    func readConfiguration() async -> Bool {
        let isPolicyComplete = await permissions.readRules()
        let areLinksComplete = await links.readRules()
        let areHostsComplete = await hosts.readAgain()
        return isPolicyComplete && areLinksComplete && areHostsComplete
    }

    /// Checks that a caller may use a method.
    ///
    /// - Throws: `notAllowed`, with the same message for every argument.
    func check(_ caller: BusName?, of method: MemberName, _ interface: InterfaceName) async throws(OpenURLError) {
        try await callers.check(caller, of: method, interface)
    }

    /// Reads the rules and the other hosts, and what earlier routers have stored for the parts that need it from the
    /// beginning. Call this before you request the name.
    public func load() async {
        await permissions.load()
        await links.readRules()
        await hosts.load()
        await pushes.loadAtStart()
        await provenLinks.loadAtStart()
    }

    /// Returns as soon as every request that has ended is in the log.
    public func storeLog() async { await monitor.flush() }

    /// Makes requests wait until ``adoptRunning()`` is done, because they may come from a handler that is already
    /// running. Call this before you request the name.
    public func prepareToAdopt() {
        callers.hold()
    }

    /// Finds the handlers that are already running, for example because another router has exited. Call this once the
    /// name is owned.
    public func adoptRunning() async {
        launcher.output.followExisting()
        await sessions.findRunning(registry)
        // A suspended handler takes its name back when the earlier router exits, perhaps only after this search.
        for id in launcher.records?.removeEnded() ?? [] {
            if let handler = registry.handler(named: id) { await sessions.obtain(for: handler).processes.find() }
        }
        callers.release()
        voipHandlers.startAtLogin()
    }

    /// Starts to deliver the queue's URLs and to run the handlers' tasks, including those that an earlier router left
    /// behind. Call this once the name is owned.
    public func startDeliveries() async {
        await deliveries?.run()
        pushes.repeatRegistrations()
        scheduledTasks.start()
        provenLinks.start()
    }

    /// Refuses the questions that are waiting for the user, and ends the calls, the claims on callbacks, the tasks and
    /// the deliveries.
    ///
    /// It returns when the deliveries in progress have ended and every accepted URL is stored. Release the name right
    /// after this, because the next router reads the queue when it starts. If you release the name before this has
    /// returned, the lock of the store keeps the next router from delivering too early.
    public func stopDeliveries() async {
        await launcher.services?.routerEnds()
        questions.stop()
        links.stop()
        waitingCalls.stop()
        await callbacks.stop()
        await scheduledTasks.stop()
        hosts.stop()
        await provenLinks.stop()
        await pushes.stop()
        await deliveries?.stop()
    }

    /// Gives up the deliveries in progress, without counting them as attempts: the next router tries again. Call this when
    /// the bus is gone, or if ``stopDeliveries()`` takes too long. A later call waits for what an earlier one has left.
    public func abandonDeliveries() async {
        hosts.stop()
        // These wait for the thread of the small files, which a file system may hold up. The queue has its own.
        let stops = [
            start { await self.scheduledTasks.stop() },
            start { await self.provenLinks.stop() },
            start { await self.pushes.stop() },
        ]
        await deliveries?.abandon()
        for stop in stops { await stop.value }
    }

    /// Sets how callbacks are published on the desktop. Call this before you request the name.
    func publishCallbacks(with publisher: @escaping Callbacks.Publisher) {
        callbacks.publisher = publisher
    }

    /// Relieves memory pressure whenever the kernel reports that programs are waiting for memory. Call this once. If
    /// the kernel has no pressure information, this does nothing.
    public func watchMemory() {
        do throws(Errno) {
            try PressureWatch.start(on: loop) { [unowned self] in
                assumeIsolated { $0.sessions.relieveMemory() }
            }
        } catch {
            log.debug("memory pressure cannot be watched: \(error)")
        }
    }
}
