internal import Desktop
internal import Glibc

/// Loads the registry from its directories, and loads it again reading only the files that have changed.
public struct RegistryLoader: Sendable {
    /// The registry as of the last look at the directories.
    public private(set) var registry = Registry(handlers: [])
    /// What the registry depends on: the directories, and the files that their entries lead to. What is at one of these
    /// paths, or on the way there, is as it was when the registry was loaded, or ``update()`` finds out.
    public private(set) var paths: Set<String> = []

    /// The schemes of the handlers that came, went or changed at the last update that made the registry another one.
    public var changedSchemes: Set<Scheme> { Set(changedHandlers.flatMap(\.schemes)) }

    private let directories: RegistryDirectories
    private var files = ManifestFiles()
    private var loaded = Entries()
    private var changedHandlers: [Handler] = []
    private var known: [String: KnownEntry] = [:]

    /// A manifest in a directory that says all about its handler.
    private struct KnownEntry: Sendable {
        let version: FileVersion
        let handler: Handler
        let warnings: [Diagnostic]
    }

    private struct Entries: Sendable, Hashable {
        var handlers: [Handler] = []
        var diagnostics: [Diagnostic] = []
    }

    /// A loader that has not looked at the directories yet.
    public init(_ directories: RegistryDirectories) {
        self.directories = directories
        paths = Set(directories.all.map(\.path))
    }

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
        var entries = Entries()
        var next: [String: KnownEntry] = [:]
        next.reserveCapacity(known.count)
        paths = Set(directories.all.map(\.path))
        for (precedence, (directory, scope)) in directories.all.enumerated() {
            do throws(FileError) {
                for entry in try self.entries(of: directory, &entries.diagnostics) {
                    if entry.leadsElsewhere { paths.insert(entry.manifestFile) }
                    do throws(InvalidEntry) {
                        let loaded = try handler(of: entry, in: directory, scope, precedence, now: now, &next)
                        entries.handlers.append(loaded.handler)
                        entries.diagnostics += loaded.warnings
                    } catch {
                        entries.diagnostics += error.diagnostics
                    }
                }
            } catch {
                entries.diagnostics.append(Diagnostic(severity: .error, file: directory, reason: error.reason))
            }
        }
        files.forgetUnused()
        known = next
        guard entries != loaded else { return false }
        loaded = entries
        changedHandlers = registry.update(handlers: entries.handlers, diagnostics: entries.diagnostics)
        return true
    }

    /// Reads a handler, or takes it as it was read before.
    private mutating func handler(
        of entry: RegistryEntry,
        in directory: String,
        _ scope: RegistryDirectories.Scope,
        _ precedence: Int,
        now: Int64,
        _ next: inout [String: KnownEntry]
    ) throws(InvalidEntry) -> (handler: Handler, warnings: [Diagnostic]) {
        let ownFile = entry.ownFile
        if let ownFile, let known = known[entry.path], known.version == ownFile.version,
            known.handler.path == ownFile.path
        {
            next[entry.path] = known
            files.keep(ownFile.path)
            return (known.handler, known.warnings)
        }
        let (handler, warnings) = try entry.handler(
            scope: scope,
            precedence: precedence,
            named: String(entry.path.dropFirst(directory.count + 1)),
            from: &files,
            now: now
        )
        // A program beside the manifest is looked for each time, as links may have come to lead elsewhere.
        if let version = ownFile?.version, version.isSettled(at: now), handler.manifest.executable?.isRelative != true {
            next[entry.path] = KnownEntry(version: version, handler: handler, warnings: warnings)
        }
        return (handler, warnings)
    }

    /// The bundles and manifests in a directory, in byte order of their names.
    private func entries(
        of directory: String,
        _ diagnostics: inout [Diagnostic]
    ) throws(FileError) -> [RegistryEntry] {
        guard let names = try names(inDirectory: directory) else { return [] }
        let resolved = try ResolvedDirectory(directory)
        var entries: [RegistryEntry] = []
        for name in names {
            if let name = String(validating: name, as: UTF8.self) {
                guard let form = HandlerForm(name: name) else { continue }
                entries.append(RegistryEntry(path: "\(directory)/\(name)", form: form, in: resolved))
            } else {
                let entry = "\(directory)/\(String(decoding: name, as: UTF8.self))"
                diagnostics.append(
                    Diagnostic(severity: .error, file: entry, reason: "has a name that is not UTF-8")
                )
            }
        }
        return entries
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
