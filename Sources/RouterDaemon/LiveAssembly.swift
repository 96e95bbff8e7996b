internal import DBus
internal import Desktop
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import URLRouter

/// The parts of the real daemon: a router on the session bus, with the registry and the queue in the user's files.
struct LiveAssembly: Assembly {
    let environment: [String: String]
    /// The files installed with the daemon; nil if its own path is unknown.
    let installation: Installation?
    /// Runs the router and its connection.
    let loop: EventLoop
    let log: Logger

    /// A registry, and the store that keeps it up to date.
    struct LoadedRegistry {
        let store: RegistryStore
        let registry: Registry
        /// The loop on a thread that reads and writes small files.
        let files: EventLoop
    }

    func loadRegistry() async throws -> LoadedRegistry {
        let command = installation?.command
        if command == nil { log.warning("without openurl beside openurld, handlers are not published") }
        let files = try EventLoop()
        let store = RegistryStore(
            RegistryDirectories(environment: environment, additional: installation?.handlers),
            desktop: DesktopDirectories(environment: environment),
            command: command,
            cache: ManifestCache(environment: environment),
            on: files,
            log: log
        )
        return LoadedRegistry(store: store, registry: await store.load(), files: files)
    }

    func connect() async throws -> Connection {
        var limits = ConnectionLimits()
        limits.pacesStrangers = true
        return try await Connection.open(on: loop, limits: limits)
    }

    func makeRouter(_ loaded: LoadedRegistry, _ connection: Connection) async throws -> LiveRouter {
        let router = URLRouter(
            registry: loaded.registry,
            connection: connection,
            environment: environment,
            stores: RouterStores(environment: environment, on: loaded.files, queue: try EventLoop(), log: log),
            chooser: installation?.chooser,
            store: loaded.store,
            log: log
        )
        await router.load()
        return LiveRouter(
            router: router,
            store: loaded.store,
            connection: connection,
            loop: loop,
            manager: ServiceManager(environment: environment),
            handlerCount: loaded.registry.handlers.count,
            log: log
        )
    }
}

/// A router on a connection to the bus.
struct LiveRouter: AssembledRouter {
    let router: URLRouter
    let store: RegistryStore
    let connection: Connection
    let loop: EventLoop
    /// Nil if no service manager is listening.
    let manager: ServiceManager?
    let handlerCount: Int
    let log: Logger

    func watchSignals(_ handler: @escaping @Sendable (CInt) -> Void) async throws {
        try await loop.run { try SignalWatch.start([SIGINT, SIGTERM], on: loop, handler) }
    }

    func export() async {
        await router.prepareToAdopt()
        await RouterObject(router, store, connection).export()
    }

    func takeName() async throws -> Bool {
        guard try await connection.requestName(RouterService.name) == .owned else { return false }
        await router.openLane()
        return true
    }

    func followRegistry() async { await store.keepCurrent(router) }

    func adoptRunning() async { await router.adoptRunning() }

    func startDeliveries() async {
        await router.startDeliveries()
        await router.takePortalName()
    }

    func watchMemory() async { await router.watchMemory() }

    func waitUntilClosed() async {
        guard await connection.waitUntilClosed() == .unread else { return }
        log.error("the bus stopped reading the router's messages, so the router closed its connection")
    }

    func announceEnd() async throws { try manager?.tell("STOPPING=1") }

    func abandonDeliveries() async {
        await router.abandonDeliveries()
        await router.storeLog()
    }

    func stopDeliveries() async { await router.stopDeliveries() }

    func releaseName() async throws {
        // The next router creates its own socket when it has the name.
        await router.refuseMoreOnLane()
        // The next router must find the suspended handlers, and they have names only while they run.
        await router.continueHandlers()
        try await router.releasePortalName()
        try await connection.releaseName(RouterService.name)
    }

    func waitUntilAnswered() async {
        async let onLane: Void = router.waitUntilAnsweredOnLane()
        await connection.waitUntilAnswered()
        await onLane
        await router.storeLog()
    }

    func close() async {
        await store.withdrawWithoutCommand()
        await router.closeLane()
        await connection.close()
    }
}
