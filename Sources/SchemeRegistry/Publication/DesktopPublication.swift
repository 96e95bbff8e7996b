public import Desktop

/// What the registry writes where the desktop and the bus look, so that programs which know nothing of it reach its
/// handlers: for each handler an entry `<id>.desktop`, which has `openurl` open the URLs, and a service file, by which the
/// bus has the router start or wake the handler when somebody calls its name.
///
/// Only files that bear the mark of this system are ever replaced or removed. Where another program has an entry or a
/// service of the same name, that one stays in force. Blocks on files, and not on the disk: what a loss of power takes away is
/// made anew at the next start.
public struct DesktopPublication: Sendable {
    private let applicationDirectory: String
    private let serviceDirectory: String
    /// The other directories in which the bus finds services.
    private let otherServiceDirectories: [String]
    private var cache: MimeInfoCache
    /// The absolute path of the command.
    private let command: String
    /// The handlers whose entries could not be written, or had others in their place.
    private var unpublished: Set<BundleIdentifier> = []
    /// Whether the last change of the cache failed.
    private var isCacheBehind = false

    /// More changes than this to the cache of MIME types, and it is made anew.
    private static let editLimit = 8

    /// Where the user's desktop looks; `nil` if there is no such place, or the path of the command is not absolute.
    public init?(in directories: DesktopDirectories, command: String) {
        guard let applications = directories.userApplicationDirectory, let services = directories.userServiceDirectory,
            command.hasPrefix("/")
        else { return nil }
        applicationDirectory = applications
        serviceDirectory = services
        otherServiceDirectories = directories.dataDirectories.map { "\($0)/dbus-1/services" }
        cache = MimeInfoCache(directory: applications)
        self.command = command
    }

    /// Brings all that is published into line with a registry, and removes what is left of handlers that are gone.
    ///
    /// - Parameter registry: with the desktop's applications as they are now.
    /// - Returns: what could not be written, and which handlers others stand before.
    public mutating func publish(_ registry: Registry) -> [Diagnostic] {
        var changes = Changes()
        unpublished = []
        let entries = registry.applications.entries
        let handlers = registry.publishedHandlers
        changes.attempt(cache.path) { () throws(DesktopWriteError) in
            // An entry that is newer was written by a router that did not come to note it.
            let own = entries.entries.values.filter { $0.handler != nil && $0.isIn(applicationDirectory) }
            try cache.repair(ifOlderThan: own.map(\.id))
        }
        for handler in handlers {
            publishService(handler, &changes)
            guard let id = handler.desktopFileID else { continue }
            let entry = entries.entries[id]
            if entry.map({ isComplete($0, handler) }) != true { publishEntry(of: handler, id, beside: entry, &changes) }
        }
        let ids = Set(handlers.map(\.id.rawValue))
        let withEntry = Set(handlers.filter { $0.desktopFileID != nil }.map(\.id.rawValue))
        for entry in Array(entries.entries.values) + entries.ignored where entry.isIn(applicationDirectory) {
            if let id = entry.handler, !withEntry.contains(id) { withdraw(entry, &changes) }
        }
        changes.attempt(serviceDirectory) { () throws(DesktopWriteError) in
            for name in try DBusServiceFile.marked(in: serviceDirectory) where !ids.contains(name) {
                try DBusServiceFile.remove(name, in: serviceDirectory)
            }
        }
        updateCache(&changes)
        return changes.diagnostics
    }

    /// Brings what is published into line after a change of the registry, looking only at the handlers that differ, and at those
    /// that could not be published before.
    ///
    /// - Parameter registry: its applications may be those of before the last changes that were published.
    /// - Returns: as ``publish(_:)`` does, for these.
    public mutating func publish(_ registry: Registry, insteadOf old: Registry) -> [Diagnostic] {
        var changes = Changes()
        let (removed, added) = differences(from: old.handlers, to: registry.handlers)
        let again = unpublished.subtracting(added.map(\.id)).compactMap { registry[$0] }
        unpublished = []
        for handler in added + again where handler.isPublished {
            publishService(handler, &changes)
            guard let id = handler.desktopFileID else { continue }
            let entry = registry.applications.entries.entries[id]
            if let entry, !entry.isIn(applicationDirectory), isComplete(entry, handler) { continue }
            publishEntry(of: handler, id, beside: entry, &changes)
        }
        for handler in removed where handler.isPublished {
            let new = registry[handler.id].flatMap { $0.isPublished ? $0 : nil }
            if let id = handler.desktopFileID, new?.desktopFileID == nil, let entry = ownEntry(id, of: handler) {
                withdraw(entry, &changes)
            }
            if new == nil { withdrawService(handler, &changes) }
        }
        updateCache(&changes)
        return changes.diagnostics
    }

    /// Whether an entry is what would be written for a handler.
    private func isComplete(_ entry: DesktopEntry, _ handler: Handler) -> Bool {
        entry.handler == handler.id.rawValue && entry.command?.program == command && entry.name == handler.name
            && entry.urlSchemes.sorted() == handler.schemes.map(\.rawValue).sorted()
    }

    /// Writes a handler's entry.
    ///
    /// - Parameter existing: what the desktop took for it when it was looked at last.
    private mutating func publishEntry(
        of handler: Handler,
        _ id: DesktopFileID,
        beside existing: DesktopEntry?,
        _ changes: inout Changes
    ) {
        let file = "\(applicationDirectory)/\(id)"
        let isThere = DesktopEntryFile.exists(id, in: applicationDirectory)
        if let existing, existing.handler != handler.id.rawValue, isThere || !existing.isIn(applicationDirectory) {
            // An entry of a package that leads to the command is as good as one that is written here.
            guard !existing.isOwn else { return }
            let reason = "is another program's entry, which the desktop takes instead of \(handler.id)"
            changes.diagnostics.append(Diagnostic(severity: .warning, file: existing.file, reason: reason))
            unpublished.insert(handler.id)
            return
        }
        let old = ownEntry(id, of: handler)
        guard !isThere || old != nil || DesktopEntryFile.isLost(id, in: applicationDirectory) else {
            let reason = "is in the place of the entry for \(handler.id), and was not written for it"
            changes.diagnostics.append(Diagnostic(severity: .warning, file: file, reason: reason))
            unpublished.insert(handler.id)
            return
        }
        do {
            var entry = try DesktopEntryFile(name: handler.name, command: [command, "--"], urls: .one)
            entry.mimeTypes = handler.schemes.map(\.mimeType)
            entry.isHiddenFromMenus = true
            entry.handler = handler.id.rawValue
            try entry.write(as: id, in: applicationDirectory, isDurable: false)
            changes.claims[id] = (entry.mimeTypes, isThere ? old?.mimeTypes : [])
        } catch {
            changes.add(file, error)
            unpublished.insert(handler.id)
        }
    }

    private func publishService(_ handler: Handler, _ changes: inout Changes) {
        let name = handler.id.rawValue
        guard var service = DBusServiceFile(name: name, command: [command, "activate", "--background", name]) else {
            return
        }
        service.handler = name
        changes.attempt("\(serviceDirectory)/\(name).service") { () throws(DesktopWriteError) in
            guard !otherServiceDirectories.contains(where: { DBusServiceFile.exists(name, in: $0) }),
                try DBusServiceFile.isMarked(name, in: serviceDirectory) ?? true
                    || DBusServiceFile.isLost(name, in: serviceDirectory)
            else { return }
            try service.write(in: serviceDirectory, isDurable: false)
        }
    }

    private func withdraw(_ entry: DesktopEntry, _ changes: inout Changes) {
        changes.attempt(entry.file) { () throws(DesktopWriteError) in
            try DesktopEntryFile.remove(entry.id, in: applicationDirectory)
        }
        changes.claims[entry.id] = ([], entry.mimeTypes)
    }

    private func withdrawService(_ handler: Handler, _ changes: inout Changes) {
        let name = handler.id.rawValue
        changes.attempt("\(serviceDirectory)/\(name).service") { () throws(DesktopWriteError) in
            guard try DBusServiceFile.isMarked(name, in: serviceDirectory) == true else { return }
            try DBusServiceFile.remove(name, in: serviceDirectory)
        }
    }

    /// The entry that was written for a handler.
    private func ownEntry(_ id: DesktopFileID, of handler: Handler) -> DesktopEntry? {
        let location = DesktopFile.Location(id: id, file: "\(applicationDirectory)/\(id)", precedence: 0)
        guard case .application(let entry) = DesktopFile(reading: location, languages: []).content,
            entry.handler == handler.id.rawValue
        else { return nil }
        return entry
    }

    private mutating func updateCache(_ changes: inout Changes) {
        let claims = changes.claims
        guard !claims.isEmpty || isCacheBehind else { return }
        let isKnown = !isCacheBehind && claims.values.allSatisfy { $0.before != nil }
        isCacheBehind = true
        changes.attempt(cache.path) { () throws(DesktopWriteError) in
            if isKnown, claims.count <= Self.editLimit {
                for (id, types) in claims { try cache.update(id, claims: types.now, insteadOf: types.before ?? []) }
            } else {
                try cache.rebuild()
            }
            isCacheBehind = false
        }
    }

    /// What was changed, and what went wrong.
    private struct Changes {
        var diagnostics: [Diagnostic] = []
        /// The MIME types that entries claim now, and those that they claimed before if that is known.
        var claims: [DesktopFileID: (now: [String], before: [String]?)] = [:]

        mutating func add(_ file: String, _ error: any Error) {
            let problem = error as? DesktopWriteError
            let reason = problem?.reason ?? String(describing: error)
            diagnostics.append(Diagnostic(severity: .warning, file: problem?.file ?? file, reason: reason))
        }

        mutating func attempt(_ file: String, _ body: () throws(DesktopWriteError) -> Void) {
            do throws(DesktopWriteError) {
                try body()
            } catch {
                add(file, error)
            }
        }
    }
}

extension Registry {
    /// The handlers that the desktop is told of.
    public var publishedHandlers: [Handler] { handlers.filter(\.isPublished) }
}

extension Handler {
    /// Whether the desktop is told of it: a handler of the system's is the desktop's own already.
    fileprivate var isPublished: Bool { program != nil && !isFixed }

    /// What the desktop knows the handler by; `nil` where it opens nothing.
    var desktopFileID: DesktopFileID? {
        schemes.isEmpty ? nil : DesktopFileID(rawValue: "\(id).desktop")
    }
}

extension DesktopEntry {
    fileprivate func isIn(_ directory: String) -> Bool { file == "\(directory)/\(id)" }
}
