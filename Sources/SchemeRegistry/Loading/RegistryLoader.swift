internal import UserFiles

/// Loads the registry from its directories, and loads it again reading only the files that have changed.
public struct RegistryLoader: Sendable {
    /// The registry as of the last look at the directories.
    public private(set) var registry = Registry(handlers: [])
    /// What the registry depends on: the directories, and the files that their entries lead to. What is at one of these
    /// paths, or on the way there, is as it was when the registry was loaded, or ``update()`` finds out.
    public private(set) var paths: Set<String>

    private let directories: RegistryDirectories
    private var files = ManifestFiles()
    /// What was found in each directory.
    private var found: [DirectoryContents]
    /// All of it, with the handlers in the registry's order, in which a registration has only to insert one.
    private var loaded: (handlers: [Handler], diagnostics: [Diagnostic]) = ([], [])
    private var changedHandlers: [Handler] = []

    /// A loader that has not looked at the directories yet.
    public init(_ directories: RegistryDirectories) {
        self.directories = directories
        paths = Set(directories.all.map(\.path))
        found = directories.all.map { _ in DirectoryContents() }
    }

    /// The schemes of the handlers that came, went or changed at the last update that made the registry another one.
    public var changedSchemes: Set<Scheme> { Set(changedHandlers.flatMap(\.schemes)) }

    /// Takes up what an earlier process has read, so that only what has changed since is read. Blocks on the cache's file.
    public mutating func restore(from cache: ManifestCache) throws(ManifestCache.Failure) {
        try files.restore(from: cache)
    }

    /// Has a cache keep what was read, for a later process; nothing is done if there is nothing new. Blocks on its file.
    public mutating func save(to cache: ManifestCache) throws(ManifestCache.Failure) {
        try files.save(to: cache)
    }

    /// How many manifests have been read since there is this loader; those that have not changed are not read again.
    public var readCount: Int { files.readCount }

    /// Looks at all directories, in one pass that blocks on files.
    ///
    /// A manifest that cannot be registered becomes a diagnostic and spoils nothing else. A directory that does not exist
    /// holds nothing; one that cannot be read is a diagnostic.
    ///
    /// - Returns: whether the registry is another one now.
    public mutating func update() -> Bool {
        update(now: currentTime())
    }

    mutating func update(now: Int64) -> Bool {
        var next: [DirectoryContents] = []
        for (precedence, directory) in directories.all.enumerated() {
            let place = DirectoryPlace(path: directory.path, scope: directory.scope, precedence: precedence)
            next.append(DirectoryContents(of: place, before: found[precedence], files: &files, now: now))
        }
        files.forgetUnused()
        guard next != found else { return false }
        found = next
        return takeFound()
    }

    /// Looks at what a registration of the user's has changed, and at nothing else: for its own use right away. Other changes
    /// are for ``update()``.
    ///
    /// - Parameter handler: what was registered, whose manifest is not read again.
    /// - Returns: whether the registry is another one now.
    public mutating func update(registrationOf handler: Handler) -> Bool {
        let name = handler.entry.split(separator: "/").last.map(String.init) ?? ""
        return update(registrationOf: handler.id, saying: [name: handler.manifest])
    }

    /// Looks at what taking back a registration has changed, as ``update(registrationOf:)`` does.
    public mutating func update(unregistrationOf id: BundleIdentifier) -> Bool {
        update(registrationOf: id, saying: [:])
    }

    private mutating func update(
        registrationOf id: BundleIdentifier,
        saying manifests: [String: HandlerManifest]
    ) -> Bool {
        guard let user = directories.user else { return update() }
        let place = DirectoryPlace(path: user, scope: .user, precedence: 0)
        let changes = found[0].look(again: id, saying: manifests, in: place, files: &files, now: currentTime())
        guard let (removed, added) = changes else { return false }
        var handlers = loaded.handlers
        handlers.removeAll { removed.contains($0) }
        for new in added {
            handlers.insert(new, at: handlers.firstIndex { Handler.precedes(new, $0) } ?? handlers.endIndex)
        }
        return take(handlers)
    }

    private mutating func takeFound() -> Bool {
        take(found.flatMap(\.handlers).sorted(by: Handler.precedes))
    }

    /// Makes the registry that of what was found, where that is other than before.
    ///
    /// - Parameter handlers: those that were found, in the registry's order.
    private mutating func take(_ handlers: [Handler]) -> Bool {
        paths = Set(directories.all.map(\.path) + found.flatMap(\.dependencies))
        let diagnostics = found.flatMap(\.diagnostics)
        guard handlers != loaded.handlers || diagnostics != loaded.diagnostics else { return false }
        loaded = (handlers, diagnostics)
        changedHandlers = registry.update(handlers: handlers, diagnostics: diagnostics)
        return true
    }
}

extension Registry {
    /// Loads the handlers of all directories once, as ``RegistryLoader/update()`` does.
    public init(loading directories: RegistryDirectories) {
        var loader = RegistryLoader(directories)
        _ = loader.update()
        self = loader.registry
    }
}
