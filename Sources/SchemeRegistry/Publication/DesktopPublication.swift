public import Desktop
public import UserFiles

/// The files through which the desktop and the bus reach the registry's handlers.
///
/// A router publishes in the user's directories. ``init(inDataDirectory:of:command:)`` publishes in one of the system's
/// directories, so that the desktop reaches the system's handlers before any router has run. If a handler's files are
/// complete there, a router does not publish it again.
///
/// Each handler has an entry `<id>.desktop`, which opens URLs with the `openurl` command, and a service file, so that a
/// call to the handler's bus name makes the router start or wake the handler. This is how programs that do not know
/// this system reach the handlers.
///
/// Only files that bear this system's mark are replaced or removed. If another program has an entry or a service with
/// the same name, the other program's file stays in use. Publishing blocks while it reads and writes files, but does
/// not wait for the disk: if a power failure damages files, the router writes them again when it next starts.
public struct DesktopPublication: Sendable {
    let applicationDirectory: String
    private let serviceDirectory: String
    /// The system's data directories, where the desktop and the bus look too.
    private let dataDirectories: [String]
    /// The cache of MIME types; nil if another program creates it.
    private var cache: MimeInfoCache?
    /// The command's absolute path.
    let command: String
    /// Schemes for which programs are waiting for callbacks; nil if it is not known which ones the entry claims.
    var callbackSchemes: Set<String>? = []
    /// A directory that takes the place of `/`, or an empty string. Paths in the files do not contain it.
    private let root: String

    /// Problems with publishing, by handler.
    private var problems: [BundleIdentifier: [Diagnostic]] = [:]
    /// Problems that do not belong to a single handler.
    private var otherProblems: [Diagnostic] = []
    /// The handlers for which the desktop uses another program's file instead, or whose own files could not be written
    /// or removed.
    private var unpublished: Set<BundleIdentifier> = []
    /// Whether the cache of MIME types is out of date.
    private var isCacheBehind = false
    /// Whether a temporary error prevented a part of the publications since the last one of all handlers.
    private(set) var isStale = false

    /// The hash of each handler's complete entry. Bundles are left out, because their entries also depend on other files.
    private var entryHashes: [BundleIdentifier: (handler: Handler, hash: Int?)] = [:]
    /// The versions of the service files that a publication found right, and that had settled.
    private var serviceVersions: [BundleIdentifier: FileVersion] = [:]

    /// Maximum number of changes to the cache of MIME types. If there are more, the whole cache is written again.
    private static let editLimit = 8

    /// For each entry, the MIME types that it claims now, and those that it claimed before; `nil` if the latter are not
    /// known.
    typealias Claims = [DesktopFileID: (now: [String], before: [String]?)]

    /// Creates a publication in the user's directories; `nil` if there are none, or if the path of the command is not
    /// absolute.
    public init?(in directories: DesktopDirectories, command: String) {
        guard let applications = directories.userApplicationDirectory, let services = directories.userServiceDirectory,
            command.hasPrefix("/")
        else { return nil }
        applicationDirectory = applications
        serviceDirectory = services
        dataDirectories = directories.dataDirectories
        cache = MimeInfoCache(directory: applications)
        self.command = command
        root = ""
    }

    /// Creates a publication in one of the system's data directories.
    ///
    /// - Parameters:
    ///   - directory: the path of the data directory, such as `/usr/share`.
    ///   - root: the directory that takes the place of `/` while a package is built, or an empty string. A package
    ///     must not contain the cache of MIME types, so none is created there.
    ///   - command: the absolute path of the command, without the root.
    public init(inDataDirectory directory: String, of root: String = "", command: String) {
        applicationDirectory = "\(root)\(directory)/applications"
        serviceDirectory = "\(root)\(directory)/dbus-1/services"
        dataDirectories = []
        cache = root.isEmpty ? MimeInfoCache(directory: applicationDirectory) : nil
        self.command = command
        self.root = root
    }

    /// All problems with publishing: failed writes, and handlers whose entries are replaced by another program's files.
    public var diagnostics: [Diagnostic] { problems.sorted { $0.key < $1.key }.flatMap(\.value) + otherProblems }

    /// Returns one handler's problems, and those that do not belong to a single handler.
    public func diagnostics(of id: BundleIdentifier) -> [Diagnostic] { problems[id, default: []] + otherProblems }

    /// Makes the published files match a registry, and removes those of handlers that no longer exist.
    ///
    /// - Parameter registry: the registry with the desktop's current applications.
    public mutating func publish(_ registry: Registry) {
        publish(registry, now: currentTime())
    }

    mutating func publish(_ registry: Registry, now: Int64) {
        problems = [:]
        otherProblems = []
        unpublished = []
        isStale = false
        let entries = registry.applications.entries
        let own = (entries.entries.values + entries.ignored).filter { $0.handler != nil && isInPlace($0) }
        let handlers = registry.publishedHandlers
        // If a router ended after writing an entry and before updating the cache, the two differ.
        if !handlers.isEmpty || !own.isEmpty {
            do throws(FileWriteError) {
                if try cache?.agrees(with: own, isThere: { entries.isFirstFile(of: $0, in: 0) }) == false {
                    isCacheBehind = true
                }
            } catch {
                isCacheBehind = true
                note(error)
            }
        }
        var claims: Claims = [:]
        var withEntry: Set<String> = []
        for handler in handlers {
            publishService(of: handler, now: now)
            guard let id = handler.desktopFileID else { continue }
            withEntry.insert(handler.id.rawValue)
            let entry = entries.entries[id]
            if leavesToSystem(handler, id, &claims) { continue }
            if let entry, isInPlace(entry), isStillComplete(entry, handler) { continue }
            publishEntry(of: handler, id, insteadOf: [], beside: entry, &claims)
        }
        let ids = Set(handlers.map(\.id.rawValue))
        for entry in own where entry.handler != Self.callbackMark || callbackSchemes?.isEmpty == true {
            if let id = entry.handler, !withEntry.contains(id) { withdrawEntry(entry, of: nil, &claims) }
        }
        do throws(FileWriteError) {
            try DBusServiceFile.removeMarked(in: serviceDirectory, except: ids)
        } catch {
            note(error)
        }
        entryHashes = entryHashes.filter { ids.contains($0.key.rawValue) }
        serviceVersions = serviceVersions.filter { ids.contains($0.key.rawValue) }
        updateCache(claims)
    }

    /// Makes the published files match a changed registry. Considers only the handlers that differ.
    ///
    /// - Parameters:
    ///   - registry: the new registry. Its applications may be those from before the last publication.
    ///   - old: the registry that was published before.
    ///   - isRetrying: whether to try the unpublished handlers again, because something else has changed as well.
    public mutating func publish(_ registry: Registry, insteadOf old: Registry, isRetrying: Bool) {
        let (removed, added) = differences(from: old.handlers, to: registry.handlers)
        var ids = Set((removed + added).map(\.id))
        if isRetrying { ids.formUnion(unpublished.union(changedByOthers(registry))) }
        unpublished.subtract(ids)
        otherProblems = []
        var claims: Claims = [:]
        for id in ids {
            problems[id] = nil
            let new = registry[id].flatMap { $0.isPublished ? $0 : nil }
            if let new { publishService(of: new, now: currentTime()) } else { withdrawService(of: id) }
            guard let file = DesktopFileID(name: id.rawValue) else { continue }
            if let new, leavesToSystem(new, file, &claims) { continue }
            if let new, new.desktopFileID != nil {
                let types = old[id]?.mimeTypes ?? []
                let existing = registry.applications.entries.entries[file]
                publishEntry(of: new, file, insteadOf: types, beside: existing, &claims)
            } else if let entry = ownEntry(file, of: id.rawValue) {
                withdrawEntry(entry, of: id, &claims)
            }
        }
        updateCache(claims)
    }

    /// Returns the handlers whose entries another program has deleted, and those that a system directory now publishes.
    ///
    /// - Parameter registry: the registry with the desktop's current applications.
    private func changedByOthers(_ registry: Registry) -> [BundleIdentifier] {
        let entries = registry.applications.entries.entries
        let published = registry.publishedHandlers
        var changed = published.filter { handler in
            guard let id = handler.desktopFileID, let entry = entries[id] else { return false }
            return isPublishedBySystem(handler, id) && isInPlace(entry)
        }
        // Every registration reaches this point, so look for the entries only if one is missing.
        if entries.values.count(where: { $0.handler != nil && $0.handler != Self.callbackMark }) < published.count
            - unpublished.count
        {
            changed += published.filter { handler in
                guard let id = handler.desktopFileID, entries[id] == nil else { return false }
                return !DesktopEntryFile.exists(id, in: applicationDirectory)
            }
        }
        return changed.map(\.id)
    }

    /// Returns the entry to write for a handler.
    private func entry(_ id: DesktopFileID, of handler: Handler) throws(ExecCommand.ParseError) -> DesktopEntryFile {
        let command = [command, "open", "--desktop-entry", id.rawValue, "--"]
        let resources = BundleResources(of: handler, languages: [])
        var entry = try DesktopEntryFile(name: resources.name ?? handler.name, command: command, urls: .one)
        entry.localizedNames = resources.localizedNames()
        entry.icon = resources.icon.map { $0.hasPrefix("\(root)/") ? String($0.dropFirst(root.utf8.count)) : $0 }
        entry.mimeTypes = handler.mimeTypes
        entry.hasStartupNotification = true
        // The entry is for application choosers, not for menus. Before Plasma 6.6, KDE's portal hides entries with
        // `NoDisplay` from its chooser. Other desktops' menus honour `OnlyShowIn`, and KDE's menu leaves out the core
        // applications that are not KDE's own.
        entry.desktops = ["KDE"]
        entry.categories = ["Core"]
        entry.handler = handler.id.rawValue
        return entry
    }

    /// Returns whether an entry already has the content that would be written for a handler.
    private func isComplete(_ entry: DesktopEntry, _ handler: Handler) -> Bool {
        do throws(ExecCommand.ParseError) {
            return try entry.contentsHash == self.entry(entry.id, of: handler).contentsHash
        } catch {
            return false
        }
    }

    /// Does the same as `isComplete`, but composes the entry only for a bundle or a handler that has changed. Composing
    /// takes much of a publication's time.
    private mutating func isStillComplete(_ entry: DesktopEntry, _ handler: Handler) -> Bool {
        if let known = entryHashes[handler.id], known.handler == handler { return entry.contentsHash == known.hash }
        guard isComplete(entry, handler) else { return false }
        if !handler.isBundle { entryHashes[handler.id] = (handler, entry.contentsHash) }
        return true
    }

    /// Returns whether an entry is in the directory for handlers' entries.
    private func isInPlace(_ entry: DesktopEntry) -> Bool { entry.file == "\(applicationDirectory)/\(entry.id)" }

    /// Removes a system handler's entry if the system's directories publish it.
    ///
    /// - Returns: whether they do.
    private mutating func leavesToSystem(_ handler: Handler, _ id: DesktopFileID, _ claims: inout Claims) -> Bool {
        guard isPublishedBySystem(handler, id) else { return false }
        unpublished.insert(handler.id)
        if let own = ownEntry(id, of: handler.id.rawValue) { withdrawEntry(own, of: handler.id, &claims) }
        return true
    }

    /// Returns whether the desktop finds a system handler's complete entry in the system's directories.
    private func isPublishedBySystem(_ handler: Handler, _ id: DesktopFileID) -> Bool {
        guard handler.scope == .system else { return false }
        let directories = dataDirectories.map { "\($0)/applications" }
        guard let directory = directories.first(where: { DesktopEntryFile.exists(id, in: $0) }) else { return false }
        let location = DesktopFile.Location(id: id, file: "\(directory)/\(id)", precedence: 0)
        guard case .application(let entry) = DesktopFile(reading: location, languages: []).content else { return false }
        return isComplete(entry, handler)
    }

    /// Writes a handler's entry, unless the desktop uses another program's entry instead.
    ///
    /// - Parameters:
    ///   - types: the MIME types that a previous entry claimed, in case it no longer exists.
    ///   - existing: the entry that the desktop used for the handler at the last update.
    private mutating func publishEntry(
        of handler: Handler,
        _ id: DesktopFileID,
        insteadOf types: [String],
        beside existing: DesktopEntry?,
        _ claims: inout Claims
    ) {
        let file = "\(applicationDirectory)/\(id)"
        let isThere = DesktopEntryFile.exists(id, in: applicationDirectory)
        let own = ownEntry(id, of: handler.id.rawValue)
        if own == nil, let existing, isThere || !isInPlace(existing), !isInPlace(existing) || existing.handler == nil {
            if isComplete(existing, handler) || existing.handler == nil && existing.isOwn {
                // A package's entry that starts the command is as good as one written here.
                unpublished.insert(handler.id)
                return
            }
            if existing.handler != handler.id.rawValue {
                let reason = "is another program's entry, which the desktop uses instead of that of \(handler.id)"
                return fail(handler.id, Diagnostic(severity: .warning, file: existing.file, reason: reason))
            }
        }
        // A link may lead nowhere, and is never the handler's own.
        guard !DesktopEntryFile.isLink(id, in: applicationDirectory),
            !isThere || own != nil || DesktopEntryFile.isLost(id, in: applicationDirectory)
        else {
            let reason = "was not written for \(handler.id), so that handler's entry cannot be written here"
            return fail(handler.id, Diagnostic(severity: .warning, file: file, reason: reason))
        }
        do {
            let entry = try self.entry(id, of: handler)
            try entry.write(as: id, in: applicationDirectory, isDurable: false)
            claims[id] = (entry.mimeTypes, isThere ? own?.mimeTypes : types)
        } catch let error as FileWriteError {
            fail(handler.id, error)
        } catch {
            fail(handler.id, Diagnostic(severity: .warning, file: file, reason: String(describing: error)))
        }
    }

    private mutating func publishService(of handler: Handler, now: Int64) {
        let name = handler.id.rawValue
        // Handlers with a command never take the bus name.
        guard handler.kind == .native else { return withdrawService(of: handler.id) }
        do throws(FileWriteError) {
            if dataDirectories.contains(where: { DBusServiceFile.exists(name, in: "\($0)/dbus-1/services") }) {
                return withdrawService(of: handler.id)
            }
            let version = DBusServiceFile.version(name, in: serviceDirectory)
            if let version, version == serviceVersions[handler.id] { return }
            guard
                try DBusServiceFile.isMarked(name, in: serviceDirectory) ?? true
                    || DBusServiceFile.isLost(name, in: serviceDirectory),
                var service = DBusServiceFile(name: name, command: [command, "activate", "--background", name])
            else { return }
            service.handler = name
            try service.write(in: serviceDirectory, isDurable: false)
            // If the contents were right, the file was not touched.
            let wasRight = DBusServiceFile.version(name, in: serviceDirectory) == version
            serviceVersions[handler.id] = wasRight && version?.isSettled(at: now) == true ? version : nil
        } catch {
            fail(handler.id, error)
        }
    }

    /// Removes a handler's entry.
    ///
    /// - Parameter handler: the handler for which the entry was written; `nil` if there can be no such handler.
    private mutating func withdrawEntry(_ entry: DesktopEntry, of handler: BundleIdentifier?, _ claims: inout Claims) {
        do throws(FileWriteError) {
            try DesktopEntryFile.remove(entry.id, in: applicationDirectory)
        } catch {
            if let handler { fail(handler, error) } else { note(error) }
        }
        claims[entry.id] = ([], entry.mimeTypes)
    }

    private mutating func withdrawService(of id: BundleIdentifier) {
        do throws(FileWriteError) {
            guard try DBusServiceFile.isMarked(id.rawValue, in: serviceDirectory) == true else { return }
            try DBusServiceFile.remove(id.rawValue, in: serviceDirectory)
        } catch {
            fail(id, error)
        }
    }

    /// Returns the entry in the user's directory, if it has this mark.
    ///
    /// This reads the file, because the registry's applications may be older than the last publication.
    mutating func ownEntry(_ id: DesktopFileID, of mark: String) -> DesktopEntry? {
        guard !DesktopEntryFile.isLink(id, in: applicationDirectory) else { return nil }
        let location = DesktopFile.Location(id: id, file: "\(applicationDirectory)/\(id)", precedence: 0)
        let file = DesktopFile(reading: location, languages: [])
        if file.isTemporary { isStale = true }
        guard case .application(let entry) = file.content, entry.handler == mark else { return nil }
        return entry
    }

    mutating func updateCache(_ claims: Claims) {
        guard cache != nil, !claims.isEmpty || isCacheBehind else { return }
        let isKnown = !isCacheBehind && claims.values.allSatisfy { $0.before != nil }
        // If the update fails, the flag stays set, so that the next publication writes the whole cache again.
        isCacheBehind = true
        var isComplete = true
        do throws(FileWriteError) {
            if isKnown, claims.count <= Self.editLimit {
                for (id, types) in claims {
                    let isUpdated = try cache?.update(id, claims: types.now, insteadOf: types.before ?? [])
                    if isUpdated == false { isComplete = false }
                }
            } else {
                isComplete = try cache?.rebuild() != false
            }
            isCacheBehind = !isComplete
            if !isComplete { isStale = true }
        } catch {
            note(error)
        }
    }

    private mutating func fail(_ id: BundleIdentifier, _ error: FileWriteError) {
        if error.isTemporary { isStale = true }
        fail(id, diagnostic(error))
    }

    private mutating func fail(_ id: BundleIdentifier, _ problem: Diagnostic) {
        problems[id, default: []].append(problem)
        unpublished.insert(id)
    }

    mutating func note(_ error: FileWriteError) {
        if error.isTemporary { isStale = true }
        let problem = diagnostic(error)
        if !otherProblems.contains(problem) { otherProblems.append(problem) }
    }

    private func diagnostic(_ error: FileWriteError) -> Diagnostic {
        Diagnostic(severity: .error, file: error.file, reason: error.reason)
    }
}

extension Registry {
    /// All handlers that are published to the desktop.
    public var publishedHandlers: [Handler] { handlers.filter(\.isPublished) }

    /// Returns the published handlers that are new or have changed.
    ///
    /// - Parameter earlier: a registry's handlers from before.
    package func publishedHandlers(notAmong earlier: [Handler]) -> [Handler] {
        differences(from: earlier, to: handlers).added.filter(\.isPublished)
    }
}

extension Handler {
    /// Whether the handler is published to the desktop. System handlers use the desktop's own applications already.
    var isPublished: Bool { program != nil && !isFixed && !isTemporary }

    /// The MIME types for the handler's schemes and files.
    fileprivate var mimeTypes: [String] { schemes.map(\.mimeType) + fileTypes.map(\.rawValue) }

    /// The id of the handler's entry on the desktop; `nil` if the handler opens no scheme and no type of file, or does
    /// not want the desktop to reach it.
    package var desktopFileID: DesktopFileID? {
        claims.allSatisfy { $0.schemes.isEmpty } && fileTypes.isEmpty || reach == .local
            ? nil : DesktopFileID(name: id.rawValue)
    }
}
