public import Desktop
internal import Glibc
internal import UserFiles

/// A loader of the registry. When it updates the registry, it reads only the changed files again.
public struct RegistryLoader: Sendable {
    /// The registry at the time of the last update.
    public private(set) var registry = Registry(handlers: [])
    /// Every path on which the registry depends: the directories, and the files to which their entries lead.
    ///
    /// You need to call ``update()`` only after a change at one of these paths, or to a directory or link that leads to
    /// one.
    public var paths: Set<String> { Set(directories.all.map(\.path) + found.flatMap(\.dependencies)) }

    private let directories: RegistryDirectories
    private var files: ManifestFiles
    /// Reads the directories.
    var reader = DirectoryReader()
    /// Each directory's contents.
    private var found: [DirectoryContents]
    /// The contents of all directories together. The handlers are in the registry's order, so a registration has to
    /// insert only one.
    private var loaded: (handlers: [Handler], diagnostics: [Diagnostic]) = ([], [])
    private var changedHandlers: [Handler] = []

    /// Creates a loader that has not read any directories.
    ///
    /// - Parameter services: the bus names that no handler can have. The loader does not read them until you ask it to.
    public init(_ directories: RegistryDirectories, services: DBusServiceNames = DBusServiceNames()) {
        self.directories = directories
        files = ManifestFiles(services: services)
        found = directories.all.map { _ in DirectoryContents() }
    }

    /// The schemes of the handlers that the last change to the registry added, removed or changed.
    public var changedSchemes: Set<Scheme> { Set(changedHandlers.flatMap(\.schemes)) }

    /// Loads the contents that an earlier process has cached, so that only later changes are read. Blocks while it
    /// reads the cache.
    public mutating func restore(from cache: ManifestCache) throws(ManifestCacheError) {
        try files.restore(from: cache)
    }

    /// Writes any new contents to a cache for a later process. Blocks while it writes.
    public mutating func save(to cache: ManifestCache) throws(ManifestCacheError) {
        try files.save(to: cache)
    }

    /// Bus names that no handler can have, as they were last read.
    var services: DBusServiceNames { files.services }

    /// Reads the bus names that no handler can have, as `DBusServiceNames.update` does. The next update applies them to
    /// all entries.
    public mutating func readServices(isQuick: Bool) {
        guard files.services.update(isQuick: isQuick) else { return }
        for index in found.indices { found[index].checkAgain() }
    }

    /// Reads the bus names that no handler can have, before the first update. A service file in the user's own
    /// directory that is named after a registered handler is assumed to be the handler's and is not read, because there
    /// may be very many such files.
    mutating func readServicesAtStart() {
        let user = directories.user
        _ = files.services.update(assuming: { name in
            guard let user else { return false }
            return [HandlerForm.manifestSuffix, HandlerForm.bundleSuffix].contains { suffix in
                unsafe faccessat(AT_FDCWD, "\(user)/\(name)\(suffix)", F_OK, AT_SYMLINK_NOFOLLOW) == 0
            }
        })
    }

    /// Whether the last update has left something as it was before, because of a temporary error or because a
    /// directory's or an entry's file system is not responding.
    private(set) var isStale = false

    /// Number of manifests that this loader has read. It does not read unchanged ones again.
    public var readCount: Int { files.readCount }

    /// Checks all directories for changes, in one pass. Blocks while it reads files.
    ///
    /// A manifest that cannot be registered is reported as a diagnostic and does not affect other handlers. A directory
    /// that does not exist counts as empty, and one that cannot be read is reported as a diagnostic.
    ///
    /// - Returns: whether the registry has changed.
    public mutating func update() -> Bool {
        update(now: currentTime())
    }

    /// Does the same as ``update()``, after reading the bus names that no handler can have.
    mutating func updateWithServices() -> Bool {
        readServices(isQuick: false)
        return update()
    }

    mutating func update(now: Int64) -> Bool {
        forgetTrust()
        var next: [DirectoryContents] = []
        for (precedence, directory) in directories.all.enumerated() {
            let place = DirectoryPlace(path: directory.path, scope: directory.scope, precedence: precedence)
            next.append(reader.contents(of: place, before: found[precedence], files: &files, now: now))
        }
        files.endPass()
        isStale = files.services.isStale || next.contains(where: \.isStale)
        guard next != found else { return false }
        found = next
        return takeFound()
    }

    /// Applies one registration in the user's directory without checking anything else. The handler is available at
    /// once; ``update()`` finds all other changes.
    ///
    /// - Parameter handler: the registered handler, whose manifest is not read again.
    /// - Returns: whether the registry has changed.
    public mutating func update(registrationOf handler: Handler) -> Bool {
        let name = names(onPath: handler.entry).last ?? ""
        return update(registrationOf: handler.id, saying: [name: handler.manifest])
    }

    /// Applies the removal of one registration, like ``update(registrationOf:)``.
    public mutating func update(unregistrationOf id: BundleIdentifier) -> Bool {
        update(registrationOf: id, saying: [:])
    }

    private mutating func update(
        registrationOf id: BundleIdentifier,
        saying manifests: [String: HandlerManifest]
    ) -> Bool {
        guard let user = directories.user else { return update() }
        let place = DirectoryPlace(path: user, scope: .user, precedence: 0)
        forgetTrust()
        let changes = found[0].look(
            again: id,
            declaredBy: registry[id].flatMap { names(onPath: $0.entry).last },
            saying: manifests,
            in: place,
            files: &files,
            now: currentTime()
        )
        guard let (removed, added, haveProblemsChanged) = changes else { return false }
        if removed.isEmpty, added.count == 1, !haveProblemsChanged, insert(added[0]) { return true }
        var handlers = loaded.handlers
        handlers.removeAll { removed.contains($0) }
        for new in added {
            handlers.insert(new, at: handlers.firstIndex { Handler.precedes(new, $0) } ?? handlers.endIndex)
        }
        return take(handlers)
    }

    /// Adds a handler that does not affect any other, without looking at the others.
    ///
    /// - Returns: false if it may affect others.
    private mutating func insert(_ new: Handler) -> Bool {
        guard registry.insert(new) else { return false }
        loaded.handlers.insert(new, at: loaded.handlers.firstPlace { Handler.precedes(new, $0) })
        changedHandlers = [new]
        return true
    }

    /// Makes the next update check the owner and the mode of each file again.
    private mutating func forgetTrust() {
        files.trust = directories.isStaged ? nil : TrustedPaths()
    }

    private mutating func takeFound() -> Bool {
        take(found.flatMap(\.handlers).sorted(by: Handler.precedes))
    }

    /// Updates the registry from the directories' contents, if they have changed.
    ///
    /// - Parameter handlers: the handlers of all directories, in the registry's order.
    private mutating func take(_ handlers: [Handler]) -> Bool {
        let diagnostics = found.flatMap(\.diagnostics)
        guard handlers != loaded.handlers || diagnostics != loaded.diagnostics else { return false }
        loaded = (handlers, diagnostics)
        changedHandlers = registry.update(handlers: handlers, diagnostics: diagnostics)
        registry.brokenManifests = found.reversed().reduce(into: [:]) { $0.merge($1.brokenManifests) { $1 } }
        return true
    }
}

extension Registry {
    /// Creates a registry with the handlers of all directories, as one call of ``RegistryLoader/update()`` does.
    public init(loading directories: RegistryDirectories) {
        var loader = RegistryLoader(directories)
        _ = loader.update()
        self = loader.registry
    }
}
