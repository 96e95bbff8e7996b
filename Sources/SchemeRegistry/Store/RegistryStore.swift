package import Desktop
package import Logging
package import Reactor
package import UserFiles

/// The owner of the registry's files, which reads and writes them, follows their changes, and has the handlers published
/// to the desktop.
///
/// Because reading and writing files blocks, the store has its own thread, separate from the router's.
public actor RegistryStore {
    private let directories: RegistryDirectories
    private let desktop: DesktopDirectories
    private let cache: ManifestCache?
    /// Whether the store publishes handlers to the desktop and the bus.
    package nonisolated let isPublishing: Bool
    private var publisher: DesktopPublisher?
    private let loop: EventLoop
    private let log: Logger
    private var loader: RegistryLoader
    private var applications: ApplicationReader
    private let registrationReader: PatientReader
    private let resourceReader: ResourceReader
    private var registry = Registry(handlers: [])
    private var number = 0
    private var loggedProblems: Set<String> = []
    private var following: (watch: RegistryWatch, onChange: @Sendable (RegistrySnapshot) async -> Void)?
    private var readsLater = false
    /// The time until the next reading. It grows, because on some file systems, a temporary error may never end.
    private var pause: RetryPause
    /// Other files to watch along with the store's own.
    private var others: (paths: Set<String>, onChange: @Sendable () async -> Bool, isStale: Bool)?

    /// The store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Creates a store that has not read the directories.
    ///
    /// - Parameters:
    ///   - command: the absolute path of `openurl`, which the desktop runs to open URLs; nil publishes nothing.
    ///   - cache: the cache of the manifests; nil for none.
    ///   - patience: how long a registration or a publication waits for a file system that is not responding.
    ///   - pause: the time until something is read again that could not be read.
    ///   - directoryReader: reads the registry's directories.
    ///   - publicationRunner: runs the publications; nil for one with a thread of its own.
    ///   - loop: the loop on the store's thread. Because the store blocks the thread, only other stores of files may
    ///     run there.
    package init(
        _ directories: RegistryDirectories,
        desktop: DesktopDirectories,
        command: String?,
        cache: ManifestCache?,
        patience: Duration = .seconds(2),
        pause: RetryPause = RetryPause(first: .seconds(1), longest: .seconds(60)),
        directoryReader: PatientReader = PatientReader(),
        publicationRunner: DesktopPublisher.Runner? = nil,
        on loop: EventLoop,
        log: Logger
    ) {
        self.directories = directories
        self.desktop = desktop
        publisher = command.flatMap {
            DesktopPublisher(in: desktop, command: $0, patience: patience, runner: publicationRunner, log: log)
        }
        isPublishing = publisher != nil
        self.cache = cache
        registrationReader = PatientReader(patience: patience)
        resourceReader = ResourceReader(languages: desktop.languages)
        self.pause = pause
        self.loop = loop
        self.log = log
        var loader = RegistryLoader(directories, services: DBusServiceNames(in: desktop.serviceDirectories))
        loader.reader = DirectoryReader(directoryReader)
        self.loader = loader
        applications = ApplicationReader(ApplicationLoader(desktop), log: log)
    }

    /// Reads the directories when a router starts.
    public func load() -> Registry {
        usingCache { cache throws(ManifestCacheError) in try loader.restore(from: cache) }
        loader.readServicesAtStart()
        // The router starts sooner without reading the entries that an earlier router published, and the registry knows
        // their contents anyway.
        _ = update(looking: publisher == nil ? .atAll : .pastOwnEntries) { $0.update() }
        return registry
    }

    /// Reads the directories again.
    package func reload() -> RegistrySnapshot { reload { $0.updateWithServices() } }

    /// Reads the directories again and publishes all handlers, even those that were published before.
    package func reloadAndPublish() -> RegistrySnapshot {
        let snapshot = reload(publishing: false) { $0.updateWithServices() }
        publisher?.publish(registry)
        retryIfStale()
        return snapshot
    }

    /// If the command is gone because openurl was removed, withdraws everything that tells the desktop and the bus
    /// about the handlers.
    ///
    /// `xdg-open` stops at an entry whose program is gone, without looking for the next application. A later router
    /// publishes the handlers again.
    public func withdrawWithoutCommand() {
        guard publisher?.isCommandGone == true else { return }
        _ = reload(publishing: false) { $0.updateWithServices() }
        publisher?.withdrawAll(from: applications.loader.applications)
        // The watch reports the removal, and would have the entries published again.
        publisher = nil
    }

    /// Writes or removes the entry for callbacks, as ``DesktopPublisher/publish(callbacks:_:)`` does.
    package func publishCallbacks(_ schemes: Set<String>, _ number: Int) {
        publisher?.publish(callbacks: schemes, number)
        retryIfStale()
        logNewProblems()
    }

    /// The desktop's files that an update reads.
    private enum ApplicationUpdate {
        case atAll
        /// All files except the entries of the registry's own handlers.
        case pastOwnEntries
        case atNone
    }

    private func reload(
        looking: ApplicationUpdate = .atAll,
        publishing: Bool = true,
        _ update: (inout RegistryLoader) -> Bool
    ) -> RegistrySnapshot {
        let (before, numberBefore) = (registry, number)
        let changes = self.update(looking: looking, update)
        var schemes: Set<Scheme> = changes.handlers ? loader.changedSchemes : []
        if changes.applications {
            schemes.formUnion(before.applications.concernedSchemes)
            schemes.formUnion(registry.applications.concernedSchemes)
        }
        if publishing {
            if publisher?.isLate == true, looking == .atAll {
                publisher?.publish(registry)
            } else if number != numberBefore {
                publisher?.publish(registry, insteadOf: before, isRetrying: changes.applications)
            }
            retryIfStale()
        }
        let changed = registry.schemes(schemes, withWinnersOtherThanIn: before).map(\.rawValue)
        return RegistrySnapshot(number: number, registry: registry, changed: changed)
    }

    /// Updates the registry.
    ///
    /// - Returns: whether the handlers changed, and whether the applications changed.
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
        retryIfStale()
        if handlersChanged || applicationsChanged || number == 0 {
            number += 1
            registry = loader.registry
            registry.applications = applications.loader.applications
            let counts = [
                "handlers": registry.handlers.count, "manifests read": loader.readCount,
                "applications": registry.applications.all.count,
            ]
            log.info("registry read", metadata: counts.mapValues { "\($0)" })
        }
        // Watch the paths after the answer: the store reads them again once it has started to watch. A registration
        // changes a directory that is watched already, so the change leads back here.
        if looking != .atNone { loop.execute { self.assumeIsolated { $0.followPaths() } } }
        logNewProblems()
        return (handlersChanged, applicationsChanged)
    }

    /// Reads a handler that is about to be registered, and changes nothing.
    ///
    /// - Returns: the handler, and whether a service file that the bus can read declares the handler's name for it.
    package func inspect(_ path: String) throws(RegistrationError) -> (handler: Handler, hasService: Bool) {
        loader.readServices(isQuick: true)
        let handler = try registrationReader.registering(path) {
            [directories, registry, services = loader.services] () throws(RegistrationError) in
            try directories.inspect(path, in: registry, services: services).handler
        }
        let name = handler.id.rawValue
        // Other programs' services are refused above, so a file with this name is the handler's.
        let hasService =
            loader.services[name] != nil || desktop.serviceDirectories.contains { DBusServiceFile.exists(name, in: $0) }
        return (handler, hasService)
    }

    /// Describes the running handler with the given identifier: as the files declare it, or only by its program.
    ///
    /// - Throws: ``RegistrationError`` if the identifier is a fixed handler's, or another program's bus name.
    package func describe(
        _ id: BundleIdentifier,
        running program: Handler.Program
    ) throws(RegistrationError) -> Handler {
        if let handler = registry[id] {
            if handler.isFixed { throw .fixedHandler(id) }
            return handler
        }
        if let prefix = BundleIdentifier.systemPrefixes.first(where: { id.rawValue.hasPrefix($0) }) {
            throw .takenName(id, by: "\(prefix)* belongs to the system")
        }
        loader.readServices(isQuick: true)
        if let service = loader.services[id.rawValue] { throw .takenName(id, by: service.file) }
        return Handler(id, running: program)
    }

    /// Returns the problems that would come to light if a path, or the entry that declares an id, were registered and
    /// its handler launched.
    ///
    /// - Parameter searchPath: the value of `PATH` for a launch.
    /// - Returns: the findings, and the handler if it can be registered; nil if no directory declares the id.
    /// - Throws: ``RegistrationError`` for a reason that is not in the manifest.
    package func check(
        _ path: String,
        searchPath: String?
    ) throws(RegistrationError) -> (findings: [Diagnostic], handler: Handler?) {
        loader.readServices(isQuick: true)
        return try registrationReader.registering(path) {
            [directories, registry, services = loader.services] () throws(RegistrationError) in
            try directories.check(path, in: registry, services: services, searchPath: searchPath)
        }
    }

    /// Returns the path of the entry that declares an id, even if it cannot be read; nil if no directory has one.
    package func entry(of id: BundleIdentifier) -> String? { directories.entry(of: id, in: registry) }

    /// Returns the warnings about a registration: those about its files, and those that it already has.
    ///
    /// - Parameter searchPath: the value of `PATH` for a launch.
    package func warnings(of registration: Registration, searchPath: String?) throws(RegistrationError) -> [Diagnostic]
    {
        let handler = registration.handler
        return try registrationReader.registering(handler.entry) { [directories] () throws(RegistrationError) in
            directories.warnings(about: handler, known: registration.warnings, searchPath: searchPath)
        }
    }

    /// Registers a bundle or a manifest, and reads the changes.
    ///
    /// A scheme that already has a claimant stays with that claimant. If a file system doesn't respond in time, this
    /// throws an error, and the handler may be registered later.
    ///
    /// - Parameters:
    ///   - expected: the handler that ``inspect(_:)`` has returned for the path, and that the caller has checked.
    ///   - isReplacing: whether the handler may replace another one with the same id.
    package func register(
        _ path: String,
        expecting expected: Handler,
        isReplacing: Bool
    ) throws(RegistrationError) -> (Registration, RegistrySnapshot) {
        let before = registry
        // The work cannot be stopped, so it may be done after all.
        let late = "a file system is slow, so the handler may be registered later; 'openurl list' shows whether it is"
        var registration = try registrationReader.registering(path, orTelling: late) {
            [directories, services = loader.services] () throws(RegistrationError) in
            try directories.register(
                path,
                in: before,
                expecting: expected,
                isReplacing: isReplacing,
                services: services
            )
        }
        let handler = registration.handler
        // Like any other change, the new desktop entry is read after the answer.
        var snapshot = reload(looking: .atNone) { $0.update(registrationOf: handler) }
        registration.warnings += publisher?.warnings(about: handler) ?? []
        let taken = registry.kinds(takenBy: handler, from: before)
        registration.warnings += registry.hosts(takenBy: handler, from: before)
        if !taken.isEmpty {
            // This reads the entries that were published a moment ago.
            _ = reload()
            registration.warnings += registry.keepDefaults(taken, in: desktop)
            _ = reload()
            let changed = registry.schemes(Set(handler.schemes), withWinnersOtherThanIn: before)
            snapshot = RegistrySnapshot(number: number, registry: registry, changed: changed.map(\.rawValue))
        }
        return (registration, snapshot)
    }

    /// Writes the user's choice for a scheme or a MIME type, and reads the desktop's files again.
    package func setDefault(_ id: String, for kind: String) throws(DefaultError) -> RegistrySnapshot {
        // This reads the entry of a handler that may have been registered a moment ago.
        let before = reload()
        try registry.setDefault(id, for: kind, in: desktop)
        return reload().adding(before.changed)
    }

    /// Removes a registration and the user's choices for the handler, and reads the changes.
    package func unregister(_ id: BundleIdentifier) throws(UnregistrationError) -> RegistrySnapshot {
        // This reads the entry of a handler that may have been registered a moment ago.
        let earlier = reload().changed
        let before = registry
        try directories.unregister(id, from: before)
        let snapshot = reload(looking: .atNone) { $0.update(unregistrationOf: id) }.adding(earlier)
        // A handler in a system directory may be in effect again, with the same entry.
        guard let handler = before[id], registry[id] == nil else { return snapshot }
        do throws(DefaultError) {
            if try before.forgetDefaults(of: handler, in: desktop) { return reload().adding(snapshot.changed) }
        } catch {
            log.warning(
                "the user's choices of a handler that is no longer registered could not be removed: \(error)",
                metadata: ["handler": "\(id)"]
            )
        }
        return snapshot
    }

    /// Reads the localised names and the launch images of all handlers that are bundles. Bundles on a file system that is
    /// not responding are left out.
    package func resources() -> [BundleIdentifier: BundleResources] {
        resourceReader.resources(of: registry.handlers.filter(\.isBundle))
    }

    /// Reads the localised names and the launch images of one handler; nil if no handler has the identifier, or if its file
    /// system is not responding.
    package func resources(of id: String) -> BundleResources? {
        guard let handler = registry.handler(named: id) else { return nil }
        // Only a bundle has files to read.
        return handler.isBundle
            ? resourceReader.resources(of: [handler])[handler.id]
            : BundleResources(of: handler, languages: desktop.languages)
    }

    // MARK: Following changes

    /// Publishes the handlers, and reads the directories again after every change in them or in the files that their
    /// entries lead to.
    ///
    /// - Parameter onChange: gets the registry that was published first, and each new one.
    package func follow(_ onChange: @escaping @Sendable (RegistrySnapshot) async -> Void) {
        let snapshot = reloadAndPublish()
        loop.startTask { await onChange(snapshot) }
        let watch = RegistryWatch(on: loop) { [weak self] in self?.assumeIsolated { $0.readChanges() } }
        following = (watch: watch, onChange: onChange)
        followPaths()
        // Even if nothing can be watched, other files may have to be read again after a temporary error.
        watch.changes.signal()
        // If the router ends before anything changes, the next one should find a cache too.
        saveCache()
    }

    /// Watches other files too, from ``follow(_:)`` on. They share the store's inotify instance, because each user may
    /// have only a few instances.
    ///
    /// - Parameter onChange: reads the files. It is also called after changes to the store's own files. If it returns
    ///   false, a temporary error prevented the reading of something, and it is called again later.
    package func watch(_ paths: Set<String>, _ onChange: @escaping @Sendable () async -> Bool) {
        others = (paths: paths, onChange: onChange, isStale: false)
    }

    private func readChanges() {
        if let onChange = others?.onChange {
            loop.startTask {
                let isComplete = await onChange()
                self.others?.isStale = !isComplete
                self.retryIfStale()
            }
        }
        let before = number
        let snapshot = reload()
        defer { saveCache() }
        guard number != before, let onChange = following?.onChange else { return }
        loop.startTask { await onChange(snapshot) }
    }

    /// Whether something is as it was before, or is not watched, because of a temporary error or a silent file system.
    private var isStale: Bool {
        loader.isStale || applications.isStale || others?.isStale == true || publisher?.isStale == true
            || following?.watch.isStale == true
    }

    /// Plans to read everything again, as after a change, if something is stale.
    private func retryIfStale() {
        guard isStale else { return pause.reset() }
        guard !readsLater else { return }
        readsLater = true
        loop.schedule(at: .now + pause.next()) { [weak self] in
            self?.assumeIsolated { store in
                store.readsLater = false
                if store.isStale { store.readAgain() }
            }
        }
    }

    /// Reads everything again, as after a change, and publishes it again if something could not be published.
    private func readAgain() {
        publisher?.prepareToRetry()
        // Watch before reading, so that no change is lost between the two.
        following?.watch.followAgain()
        following?.watch.changes.signal()
    }

    /// Watches every path on which the registry depends.
    private func followPaths() {
        guard let watch = following?.watch else { return }
        watch.follow(loader.paths.union(applications.loader.paths).union(others?.paths ?? []))
        retryIfStale()
    }

    private func saveCache() {
        usingCache { cache throws(ManifestCacheError) in try loader.save(to: cache) }
    }

    /// Uses the cache. If it cannot be used, warns and continues without it.
    private func usingCache(_ body: (ManifestCache) throws(ManifestCacheError) -> Void) {
        guard let cache else { return }
        do throws(ManifestCacheError) {
            try body(cache)
        } catch {
            log.warning("\(error)")
        }
    }

    /// Logs the problems that were not there at the time of the last call.
    private func logNewProblems() {
        let diagnostics =
            registry.diagnostics + registry.applications.diagnostics + (publisher?.publication.diagnostics ?? [])
        let current = diagnostics.map(\.description) + (following?.watch.problems ?? [])
        for problem in current where !loggedProblems.contains(problem) { log.warning("\(problem)") }
        loggedProblems = Set(current)
    }
}
