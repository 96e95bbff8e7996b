package import Desktop
internal import Glibc
package import Logging
package import Reactor
internal import SystemPackage
package import UserFiles

/// The owner of the registry's files, which reads and writes them, follows their changes, and publishes the handlers to
/// the desktop.
///
/// Because reading and writing files blocks, the store has its own thread, separate from the router's.
public actor RegistryStore {
    /// Runs a publication, which reads the handlers' bundles, without waiting for a file system that is not responding; nil
    /// if it was given up. It may still be done then.
    package typealias Publisher =
        @Sendable (_ work: @escaping @Sendable () -> DesktopPublication) -> DesktopPublication?

    /// How long no change must occur before a burst of changes is read.
    private static let quiet = Duration.milliseconds(100)
    /// How long after its first change a burst is read, even if it has not ended.
    private static let limit = Duration.milliseconds(500)

    private let directories: RegistryDirectories
    private let desktop: DesktopDirectories
    private let cache: ManifestCache?
    /// Whether the store publishes handlers to the desktop and the bus.
    package nonisolated let isPublishing: Bool
    private var publication: DesktopPublication?
    private let publisher: Publisher
    /// Whether everything has to be published again, because a publication was given up or was incomplete. The thread of
    /// one that was given up may still be writing files.
    private var isPublicationLate = false
    /// Whether the last publication was given up.
    private var isPublicationGivenUp = false
    private let loop: EventLoop
    private let log: Logger
    private var loader: RegistryLoader
    private var applications: ApplicationLoader
    private let applicationReader = PatientReader()
    private let registrationReader: PatientReader
    private let resourceReader = PatientReader()
    private var registry = Registry(handlers: [])
    private var number = 0
    private var problems: Set<String> = []
    private var callbacks: (schemes: Set<String>, number: Int) = ([], 0)
    private var following: Following?
    private var readsLater = false
    /// The time until the next reading. It grows, because on some file systems, a temporary error may never end.
    private var pause: RetryPause
    /// Whether the last reading of the applications was given up.
    private var areApplicationsLate = false
    /// Other files to watch along with the store's own.
    private var others: (paths: Set<String>, onChange: @Sendable () async -> Bool, isStale: Bool)?

    private struct Following {
        /// Nil without an inotify instance.
        var watch: PathWatch?
        /// Why there is no instance.
        var failure: FileError?
        let changes: Debouncer
        let onChange: @Sendable (RegistrySnapshot) async -> Void

        /// Whether a temporary error prevents the watching of a path.
        var isStale: Bool { failure?.isTemporary == true || watch?.failures.contains(where: \.isTemporary) == true }
    }

    /// The store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Creates a store that has not read the directories.
    ///
    /// - Parameters:
    ///   - command: the absolute path of `openurl`, which the desktop runs to open URLs; nil publishes nothing.
    ///   - cache: the cache of the manifests; nil for none.
    ///   - patience: how long a registration or a publication waits for a file system that is not responding.
    ///   - pause: the time until something is read again that could not be read.
    ///   - publisher: runs the publications; nil for one with a thread of its own.
    ///   - loop: the loop on the store's thread. Because the store blocks the thread, only other stores of files may
    ///     run there.
    package init(
        _ directories: RegistryDirectories,
        desktop: DesktopDirectories,
        command: String?,
        cache: ManifestCache?,
        patience: Duration = .seconds(2),
        pause: RetryPause = RetryPause(first: .seconds(1), longest: .seconds(60)),
        publisher: Publisher? = nil,
        on loop: EventLoop,
        log: Logger
    ) {
        self.directories = directories
        self.desktop = desktop
        publication = command.flatMap { DesktopPublication(in: desktop, command: $0) }
        isPublishing = publication != nil
        self.cache = cache
        registrationReader = PatientReader(patience: patience)
        let reader = PatientReader(patience: patience)
        // While an earlier publication is still running, the next one does not begin.
        self.publisher = publisher ?? { work in reader.read("publication") { _, _ in work() } }
        self.pause = pause
        self.loop = loop
        self.log = log
        loader = RegistryLoader(directories, services: DBusServiceNames(in: desktop.serviceDirectories))
        applications = ApplicationLoader(desktop)
    }

    /// Reads the directories when a router starts.
    public func load() -> Registry {
        usingCache { cache throws(ManifestCacheError) in try loader.restore(from: cache) }
        loader.readServicesAtStart()
        // The router starts sooner without reading the entries that an earlier router published, and the registry knows
        // their contents anyway.
        _ = update(looking: publication == nil ? .atAll : .pastOwnEntries) { $0.update() }
        return registry
    }

    /// Reads the directories again.
    package func reload() -> RegistrySnapshot {
        reload { Self.updateAll(&$0) }
    }

    private static func updateAll(_ loader: inout RegistryLoader) -> Bool {
        loader.readServices(isQuick: false)
        return loader.update()
    }

    /// Reads the directories again and publishes all handlers, even those that were published before.
    package func reloadAndPublish() -> RegistrySnapshot {
        let snapshot = reload(publishing: false) { Self.updateAll(&$0) }
        publishAll()
        return snapshot
    }

    /// If the command is gone because openurl was removed, withdraws everything that tells the desktop and the bus
    /// about the handlers.
    ///
    /// `xdg-open` stops at an entry whose program is gone, without looking for the next application. A later router
    /// publishes the handlers again.
    public func withdrawWithoutCommand() {
        guard let command = publication?.command, unsafe access(command, F_OK) != 0 else { return }
        _ = reload(publishing: false) { Self.updateAll(&$0) }
        let empty = Registry(handlers: [], applications: applications.applications)
        publish { publication in
            publication.publish(callbacks: [])
            publication.publish(empty)
        }
        // The watch reports the removal, and would have the entries published again.
        publication = nil
        isPublicationLate = false
        isPublicationGivenUp = false
    }

    /// Writes the entry through which the desktop passes on callbacks, or removes it if there are no schemes. An
    /// earlier call that arrives late does nothing.
    ///
    /// - Parameters:
    ///   - schemes: all schemes for which programs are waiting.
    ///   - number: greater than the number of every earlier call.
    package func publishCallbacks(_ schemes: Set<String>, _ number: Int) {
        guard number > callbacks.number else { return }
        callbacks = (schemes, number)
        publish { $0.publish(callbacks: schemes) }
        warn(currentProblems)
    }

    /// Publishes all handlers and the callbacks, even if they were published before.
    private func publishAll() {
        let (registry, schemes) = (registry, callbacks.schemes)
        publish(isAll: true) { publication in
            publication.publish(registry)
            publication.publish(callbacks: schemes)
        }
    }

    /// Changes the published files. If a file system is not responding, everything is published again later.
    ///
    /// - Parameter isAll: whether the change publishes everything.
    private func publish(isAll: Bool = false, _ change: @escaping @Sendable (inout DesktopPublication) -> Void) {
        guard let before = publication else { return }
        let after = publisher {
            var publication = before
            change(&publication)
            return publication
        }
        if let after {
            publication = after
            if isAll { isPublicationLate = false }
        } else {
            isPublicationLate = true
            publication?.forgetCallbacks()
            if !isPublicationGivenUp {
                log.warning("handlers are published later, because a file system is not responding")
            }
        }
        isPublicationGivenUp = after == nil
        retryIfStale()
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
        let before = registry
        let numberBefore = number
        let applicationsBefore = applications.applications
        let changes = self.update(looking: looking, update)
        var schemes: Set<Scheme> = changes.handlers ? loader.changedSchemes : []
        if changes.applications {
            schemes.formUnion(applicationsBefore.concernedSchemes)
            schemes.formUnion(applications.applications.concernedSchemes)
        }
        if publishing, isPublicationLate, looking == .atAll {
            publishAll()
        } else if publishing, number != numberBefore {
            let registry = registry
            publish { $0.publish(registry, insteadOf: before, isRetrying: changes.applications) }
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
            case .atAll: updateApplications()
            case .pastOwnEntries: updateApplications(assumingEntriesOf: loader.registry.publishedHandlers)
            case .atNone: false
            }
        retryIfStale()
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
        // Watch the paths after the answer: the store reads them again once it has started to watch. A registration
        // changes a directory that is watched already, so the change leads back here.
        if looking != .atNone { loop.execute { self.assumeIsolated { $0.followPaths() } } }
        warn(currentProblems)
        return (handlersChanged, applicationsChanged)
    }

    /// Reads the desktop's files. Applications on a file system that is not responding are left out.
    ///
    /// - Returns: whether the applications have changed.
    private func updateApplications(assumingEntriesOf handlers: [Handler] = []) -> Bool {
        let before = applications
        // The read begins with a path that every program can read.
        let update = applicationReader.read("/") { silent, progress in
            var loader = before
            let hasChanged = loader.update(assumingEntriesOf: handlers, leavingOut: silent, progress: progress)
            return (loader: loader, hasChanged: hasChanged)
        }
        areApplicationsLate = update == nil
        guard let update else {
            log.warning(
                "keeping the earlier list of the desktop's applications, because a file system is not responding"
            )
            return false
        }
        applications = update.loader
        return update.hasChanged
    }

    /// Runs the part of a registration that uses the handler's files, because they may be on a file system that is not
    /// responding.
    ///
    /// - Parameter outcome: what the caller is told if the file system does not respond in time.
    private func reading<Value: Sendable>(
        _ path: String,
        orTelling outcome: String = "the handler's file system is not responding; try again later",
        _ body: @escaping @Sendable (RegistryDirectories, Registry, DBusServiceNames) throws(RegistrationError) -> Value
    ) throws(RegistrationError) -> Value {
        let (directories, registry, services) = (directories, registry, loader.services)
        let result = registrationReader.read(path) { _, _ in
            Result { () throws(RegistrationError) in try body(directories, registry, services) }
        }
        guard let result else {
            throw .fileSystem(path: path, reason: outcome)
        }
        return try result.get()
    }

    /// Reads a handler that is about to be registered, and changes nothing.
    ///
    /// - Returns: the handler, and whether a service file that the bus can read declares the handler's name for it.
    package func inspect(_ path: String) throws(RegistrationError) -> (handler: Handler, hasService: Bool) {
        loader.readServices(isQuick: true)
        let handler = try reading(path) { (directories, registry, services) throws(RegistrationError) in
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
        return try reading(path) { (directories, registry, services) throws(RegistrationError) in
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
        return try reading(handler.entry) { (directories, _, _) throws(RegistrationError) in
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
        var registration = try reading(path, orTelling: late) {
            (directories, registry, services) throws(RegistrationError) in
            try directories.register(
                path,
                in: registry,
                expecting: expected,
                isReplacing: isReplacing,
                services: services
            )
        }
        let handler = registration.handler
        // Like any other change, the new desktop entry is read after the answer.
        var snapshot = reload(looking: .atNone) { $0.update(registrationOf: handler) }
        registration.warnings += publication?.diagnostics(of: handler.id) ?? []
        if isPublicationGivenUp {
            let reason = "is published later, because a file system is not responding"
            registration.warnings.append(Diagnostic(severity: .warning, file: handler.entry, reason: reason))
        }
        let taken: [(kind: ChosenKind, claimant: Claimant)] =
            registry.schemes(takenBy: handler, from: before).map { (.scheme($0), $1) }
            + registry.fileTypes(takenBy: handler, from: before).map { (.type($0), $1) }
        registration.warnings += registry.hosts(takenBy: handler, from: before)
        if !taken.isEmpty {
            registration.warnings += keep(taken)
            let changed = registry.schemes(Set(handler.schemes), withWinnersOtherThanIn: before)
            snapshot = RegistrySnapshot(number: number, registry: registry, changed: changed.map(\.rawValue))
        }
        return (registration, snapshot)
    }

    /// Makes the claimants of some schemes and types the user's defaults, which is what a user would do to keep them.
    private func keep(_ claimants: [(kind: ChosenKind, claimant: Claimant)]) -> [Diagnostic] {
        var problems: [Diagnostic] = []
        // This reads the entries that were published a moment ago.
        _ = reload()
        var kinds: [String: [ChosenKind]] = [:]
        for (kind, claimant) in claimants { kinds[claimant.id, default: []].append(kind) }
        for (claimant, kinds) in kinds.sorted(by: { $0.key < $1.key }) {
            do throws(DefaultError) {
                try registry.setDefault(claimant, for: kinds, in: desktop)
            } catch {
                let file = desktop.writtenAssociationFile ?? "mimeapps.list"
                let taken = kinds.map { "\($0)" }.joined(separator: ", ")
                let reason =
                    "the handler takes \(taken) from \(claimant), which could not be made the default: \(error)"
                problems.append(Diagnostic(severity: .warning, file: file, reason: reason))
            }
        }
        _ = reload()
        return problems
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
            let metadata = ["handler": "\(id)"].mapValues { "\($0)" as Logger.MetadataValue }
            log.warning(
                "the user's choices of a handler that is no longer registered could not be removed: \(error)",
                metadata: metadata
            )
        }
        return snapshot
    }

    /// Reads the localised names and the launch images of all handlers that are bundles. Bundles on a file system that is
    /// not responding are left out.
    package func resources() -> [BundleIdentifier: BundleResources] {
        resources(of: registry.handlers.filter(\.isBundle))
    }

    /// Reads the localised names and the launch images of one handler; nil if no handler has the identifier, or if its file
    /// system is not responding.
    package func resources(of id: String) -> BundleResources? {
        guard let handler = registry.handler(named: id) else { return nil }
        // Only a bundle has files to read.
        return handler.isBundle
            ? resources(of: [handler])[handler.id] : BundleResources(of: handler, languages: desktop.languages)
    }

    private func resources(of handlers: [Handler]) -> [BundleIdentifier: BundleResources] {
        guard !handlers.isEmpty else { return [:] }
        let languages = desktop.languages
        // The read begins with a path that every program can read.
        let found = resourceReader.read("/") { silent, progress in
            var resources: [BundleIdentifier: BundleResources] = [:]
            for handler in handlers where !silent.contains(handler.path) {
                progress(handler.path)
                resources[handler.id] = BundleResources(of: handler, languages: languages)
            }
            return resources
        }
        return found ?? [:]
    }

    // MARK: Following changes

    /// Publishes the handlers, and reads the directories again after every change in them or in the files that their
    /// entries lead to.
    ///
    /// - Parameter onChange: gets the registry that was published first, and each new one.
    package func follow(_ onChange: @escaping @Sendable (RegistrySnapshot) async -> Void) {
        let snapshot = reloadAndPublish()
        loop.startTask { await onChange(snapshot) }
        let changes = Debouncer(on: loop, quiet: Self.quiet, limit: Self.limit) { [weak self] in
            self?.assumeIsolated { $0.readChanges() }
        }
        following = Following(changes: changes, onChange: onChange)
        followPaths()
        // Even if nothing can be watched, other files may have to be read again after a temporary error.
        changes.signal()
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
        loader.isStale || applications.isStale || areApplicationsLate || others?.isStale == true || isPublicationLate
            || publication?.isStale == true || following?.isStale == true
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
        if publication?.isStale == true { isPublicationLate = true }
        // Watch before reading, so that no change is lost between the two.
        if let watch = following?.watch, watch.failures.contains(where: \.isTemporary) {
            let paths = watch.paths
            watch.paths = paths.subtracting(watch.failures.map(\.path))
            watch.paths = paths
        }
        following?.changes.signal()
    }

    /// Watches every path on which the registry depends.
    private func followPaths() {
        guard let changes = following?.changes else { return }
        if following?.watch == nil {
            do throws(Errno) {
                following?.watch = try PathWatch(on: loop) { changes.signal() }
                following?.failure = nil
            } catch {
                following?.failure = FileError(error)
                retryIfStale()
            }
        }
        let paths = loader.paths.union(applications.paths).union(others?.paths ?? [])
        guard let watch = following?.watch, watch.paths != paths else { return }
        watch.paths = paths
        // A path may have changed between being read and being watched.
        changes.signal()
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

    private var currentProblems: [String] {
        let diagnostics = registry.diagnostics + registry.applications.diagnostics + (publication?.diagnostics ?? [])
        let unwatched = (following?.watch?.failures ?? []).map(notWatched)
        let failure = following?.failure.map {
            "changes to the handlers' directories may be noticed only after a minute: inotify_init1: \($0)"
        }
        return diagnostics.map(\.description) + unwatched + [failure].compactMap(\.self)
    }

    /// Logs the problems that were not there at the time of the last call.
    private func warn(_ current: [String]) {
        for problem in current where !problems.contains(problem) { log.warning("\(problem)") }
        problems = Set(current)
    }
}

private func notWatched(_ failure: UnwatchedPath) -> String {
    "\(failure): changes to it \(failure.isTemporary ? "may be noticed only after a minute" : "will not be noticed")"
}

extension UnwatchedPath {
    /// Whether only watches or memory are lacking.
    fileprivate var isTemporary: Bool { error == .noSpace || error == .noMemory }
}
