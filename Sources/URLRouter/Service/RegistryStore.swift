public import Desktop
public import Logging
public import Reactor
public import SchemeRegistry
internal import SystemPackage

/// The registry as it was read at one time.
struct RegistrySnapshot: Sendable {
    /// Later ones have higher numbers; the same number is the same registry.
    let number: Int
    let registry: Registry
    /// The schemes whose URLs go to another handler than in the snapshot before.
    var changed: [String] = []
}

/// The registry's files. Reading and writing them blocks, so it has a thread of its own, which is not the router's.
public actor RegistryStore {
    /// A burst of changes is read when nothing has changed for so long,
    private static let quiet = Duration.milliseconds(100)
    /// or so long after the first of them.
    private static let limit = Duration.milliseconds(500)

    private let directories: RegistryDirectories
    private let desktop: DesktopDirectories
    private let cache: ManifestCache?
    private var publication: DesktopPublication?
    private let loop: EventLoop
    private let log: Logger
    private var loader: RegistryLoader
    private var applications: ApplicationLoader
    private var registry = Registry(handlers: [])
    private var number = 0
    private var problems: Set<String> = []
    private var following: Following?

    private struct Following {
        let watch: PathWatch
        let changes: Debouncer
        let onChange: @Sendable (RegistrySnapshot) async -> Void
    }

    /// The store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Makes a store that has not looked at the directories yet.
    ///
    /// - Parameters:
    ///   - command: the absolute path of `openurl`, which the desktop is to open URLs with; nil if it is told of nothing.
    ///   - cache: what is read from and written to at the store's leisure; nil for none.
    ///   - loop: whose thread may be blocked; nothing else waits there.
    public init(
        _ directories: RegistryDirectories,
        desktop: DesktopDirectories,
        command: String?,
        cache: ManifestCache?,
        on loop: EventLoop,
        log: Logger
    ) {
        self.directories = directories
        self.desktop = desktop
        publication = command.flatMap { DesktopPublication(in: desktop, command: $0) }
        self.cache = cache
        self.loop = loop
        self.log = log
        loader = RegistryLoader(directories)
        applications = ApplicationLoader(desktop)
    }

    /// Reads what the directories hold, for a router to start with.
    public func load() -> Registry {
        usingCache { cache throws(ManifestCache.Failure) in try loader.restore(from: cache) }
        // What the desktop was told before need not be read before the first URL.
        _ = update(looking: publication == nil ? .atAll : .pastOwnEntries) { $0.update() }
        return registry
    }

    /// Reads the directories again.
    func reload() -> RegistrySnapshot {
        reload { $0.update() }
    }

    /// Reads the directories again, and tells the desktop of all that there is, whether or not it was told before.
    func reloadAndPublish() -> RegistrySnapshot {
        let snapshot = reload(publishing: false) { $0.update() }
        publication?.publish(registry)
        return snapshot
    }

    /// How much of the desktop's files an update looks at.
    private enum ApplicationUpdate {
        case atAll
        /// Not into the entries of the registry's own handlers.
        case pastOwnEntries
        case atNone
    }

    private func reload(
        looking: ApplicationUpdate = .atAll,
        publishing: Bool = true,
        _ update: (inout RegistryLoader) -> Bool
    ) -> RegistrySnapshot {
        let before = registry
        let numberBefore = number
        let applicationsBefore = applications.applications
        let changes = self.update(looking: looking, update)
        var schemes: Set<Scheme> = changes.handlers ? loader.changedSchemes : []
        if changes.applications {
            schemes.formUnion(applicationsBefore.concernedSchemes)
            schemes.formUnion(applications.applications.concernedSchemes)
        }
        if publishing, number != numberBefore {
            publication?.publish(registry, insteadOf: before, isRetrying: changes.applications)
        }
        let changed = registry.schemes(schemes, withWinnersOtherThanIn: before).map(\.rawValue)
        return RegistrySnapshot(number: number, registry: registry, changed: changed)
    }

    /// - Returns: whether the handlers and the applications are others than before.
    private func update(
        looking: ApplicationUpdate = .atAll,
        _ update: (inout RegistryLoader) -> Bool
    ) -> (handlers: Bool, applications: Bool) {
        let handlersChanged = update(&loader)
        let applicationsChanged =
            switch looking {
            case .atAll: applications.update()
            case .pastOwnEntries: applications.update(assumingEntriesOf: loader.registry.publishedHandlers)
            case .atNone: false
            }
        if handlersChanged || applicationsChanged || number == 0 {
            number += 1
            registry = loader.registry
            registry.applications = applications.applications
            let counts = [
                "handlers": registry.handlers.count, "manifests read": loader.readCount,
                "applications": registry.applications.all.count,
            ]
            log.info("registry read", metadata: counts.mapValues { "\($0)" })
        }
        // Nobody's answer waits for it; what has changed by then is read again. A registration is a change of a directory that
        // is followed already, so it comes by here once more.
        if looking != .atNone { loop.execute { self.assumeIsolated { $0.followPaths() } } }
        let diagnostics = registry.diagnostics + registry.applications.diagnostics + (publication?.diagnostics ?? [])
        warn(diagnostics.map(\.description) + (following?.watch.failures ?? []).map(notWatched))
        return (handlersChanged, applicationsChanged)
    }

    /// Registers a bundle or a manifest and reads what that has changed.
    func register(_ path: String) throws(RegistrationError) -> (Registration, RegistrySnapshot) {
        var registration = try directories.register(path, in: registry)
        let handler = registration.handler
        // The entry that is written for it is seen like any other change, after the answer.
        let snapshot = reload(looking: .atNone) { $0.update(registrationOf: handler) }
        registration.warnings += publication?.diagnostics(of: handler.id) ?? []
        return (registration, snapshot)
    }

    /// Notes the user's choice for a scheme and reads the desktop's files again.
    func setDefault(_ id: String, for scheme: String) throws(DefaultError) -> RegistrySnapshot {
        // What has just been registered has an entry by now.
        let before = reload()
        try registry.setDefault(id, for: scheme, in: desktop)
        var snapshot = reload()
        snapshot.changed = Set(before.changed + snapshot.changed).sorted()
        return snapshot
    }

    /// Takes a registration back and reads what that has changed.
    func unregister(_ id: BundleIdentifier) throws(UnregistrationError) -> RegistrySnapshot {
        try directories.unregister(id, from: registry)
        return reload(looking: .atNone) { $0.update(unregistrationOf: id) }
    }

    /// What the bundles hold for people to see, by their handlers.
    func resources() -> [BundleIdentifier: BundleResources] {
        var resources: [BundleIdentifier: BundleResources] = [:]
        for handler in registry.handlers where handler.isBundle {
            resources[handler.id] = BundleResources(of: handler, languages: desktop.languages)
        }
        return resources
    }

    // MARK: Following changes

    /// Reads the directories again whenever something in them, or what their entries lead to, changes; and publishes what
    /// there is to the desktop.
    ///
    /// - Parameter onChange: called when the registry is another one than before.
    func follow(_ onChange: @escaping @Sendable (RegistrySnapshot) async -> Void) {
        let before = number
        let snapshot = reloadAndPublish()
        if number != before { Task(executorPreference: loop) { await onChange(snapshot) } }
        do throws(Errno) {
            let changes = Debouncer(on: loop, quiet: Self.quiet, limit: Self.limit) { [weak self] in
                self?.assumeIsolated { $0.readChanges() }
            }
            let watch = try PathWatch(on: loop) { changes.signal() }
            following = Following(watch: watch, changes: changes, onChange: onChange)
            followPaths()
        } catch {
            log.warning("changes of the handlers' directories are not noticed: inotify_init1: \(error)")
        }
    }

    private func readChanges() {
        let before = number
        let snapshot = reload()
        defer { usingCache { cache throws(ManifestCache.Failure) in try loader.save(to: cache) } }
        guard number != before, let onChange = following?.onChange else { return }
        Task(executorPreference: loop) { await onChange(snapshot) }
    }

    /// Watches what the registry depends on.
    private func followPaths() {
        let paths = loader.paths.union(applications.paths)
        guard let following, following.watch.paths != paths else { return }
        following.watch.paths = paths
        // What was read before it was watched may have changed in between.
        following.changes.signal()
    }

    /// Does without the cache where it cannot be used.
    private func usingCache(_ body: (ManifestCache) throws(ManifestCache.Failure) -> Void) {
        guard let cache else { return }
        do throws(ManifestCache.Failure) {
            try body(cache)
        } catch {
            log.warning("\(error)")
        }
    }

    /// Logs the problems that there were not the last time.
    private func warn(_ current: [String]) {
        for problem in current where !problems.contains(problem) { log.warning("\(problem)") }
        problems = Set(current)
    }
}

private func notWatched(_ failure: PathWatch.Failure) -> String {
    "\(failure): its changes are not noticed"
}
