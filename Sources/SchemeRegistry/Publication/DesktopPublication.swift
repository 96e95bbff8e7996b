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
        let entries = registry.applications.entries.entries
        let handlers = registry.publishedHandlers
        for handler in handlers {
            publishService(handler, &changes)
            guard let id = handler.desktopFileID else { continue }
            let entry = entries[id]
            guard
                entry?.handler != handler.id.rawValue || entry?.command?.program != command
                    || entry?.name != handler.name
                    || entry?.urlSchemes.sorted() != handler.schemes.map(\.rawValue).sorted()
            else { continue }
            publishEntry(of: handler, id, insteadOf: entry?.mimeTypes, beside: entry, &changes)
        }
        let ids = Set(handlers.map(\.id.rawValue))
        let withEntry = Set(handlers.filter { $0.desktopFileID != nil }.map(\.id.rawValue))
        for entry in entries.values where entry.isIn(applicationDirectory) {
            if let id = entry.handler, !withEntry.contains(id) {
                withdrawEntry(entry.id, claiming: entry.mimeTypes, &changes)
            }
        }
        changes.attempt(serviceDirectory) { () throws(DesktopWriteError) in
            for name in try DBusServiceFile.marked(in: serviceDirectory) where !ids.contains(name) {
                try DBusServiceFile.remove(name, in: serviceDirectory)
            }
        }
        changes.attempt(cache.path) { () throws(DesktopWriteError) in try cache.repair() }
        updateCache(&changes)
        return changes.diagnostics
    }

    /// Brings what is published into line after a change of the registry, looking only at the handlers that differ.
    ///
    /// - Parameter registry: its applications may be those of before the last changes that were published.
    /// - Returns: as ``publish(_:)`` does, for these.
    public mutating func publish(_ registry: Registry, insteadOf old: Registry) -> [Diagnostic] {
        var changes = Changes()
        let (removed, added) = differences(from: old.handlers, to: registry.handlers)
        for handler in added where handler.isPublished {
            publishService(handler, &changes)
            guard let id = handler.desktopFileID else { continue }
            let before = old[handler.id]?.mimeTypes
            publishEntry(
                of: handler,
                id,
                insteadOf: before,
                beside: registry.applications.entries.entries[id],
                &changes
            )
        }
        for handler in removed where handler.isPublished {
            let new = registry[handler.id].flatMap { $0.isPublished ? $0 : nil }
            if let id = handler.desktopFileID, new?.desktopFileID == nil, isOwn(id, handler) {
                withdrawEntry(id, claiming: handler.mimeTypes, &changes)
            }
            if new == nil { withdrawService(handler, &changes) }
        }
        updateCache(&changes)
        return changes.diagnostics
    }

    /// Writes a handler's entry.
    ///
    /// - Parameters:
    ///   - types: what the one before claimed, if that is known.
    ///   - existing: what the desktop took for it when it was looked at last.
    private func publishEntry(
        of handler: Handler,
        _ id: DesktopFileID,
        insteadOf types: [String]?,
        beside existing: DesktopEntry?,
        _ changes: inout Changes
    ) {
        if let existing, existing.handler != handler.id.rawValue {
            // An entry of a package that leads to the command is as good as one that is written here.
            guard !existing.isOwn else { return }
            let reason = "is another program's entry, which the desktop takes instead of \(handler.id)"
            return changes.diagnostics.append(Diagnostic(severity: .warning, file: existing.file, reason: reason))
        }
        let file = "\(applicationDirectory)/\(id)"
        let isThere = DesktopEntryFile.exists(id, in: applicationDirectory)
        guard !isThere || isOwn(id, handler) || DesktopEntryFile.isLost(id, in: applicationDirectory) else {
            let reason = "is in the place of the entry for \(handler.id), and was not written for it"
            return changes.diagnostics.append(Diagnostic(severity: .warning, file: file, reason: reason))
        }
        do {
            var entry = try DesktopEntryFile(name: handler.name, command: [command, "--"], urls: .one)
            entry.mimeTypes = handler.mimeTypes
            entry.isHiddenFromMenus = true
            entry.handler = handler.id.rawValue
            try entry.write(as: id, in: applicationDirectory, isDurable: false)
            changes.claims[id] = (entry.mimeTypes, types ?? (isThere ? nil : []))
        } catch {
            changes.add(file, error)
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

    private func withdrawEntry(_ id: DesktopFileID, claiming types: [String], _ changes: inout Changes) {
        changes.attempt("\(applicationDirectory)/\(id)") { () throws(DesktopWriteError) in
            try DesktopEntryFile.remove(id, in: applicationDirectory)
        }
        changes.claims[id] = ([], types)
    }

    private func withdrawService(_ handler: Handler, _ changes: inout Changes) {
        let name = handler.id.rawValue
        changes.attempt("\(serviceDirectory)/\(name).service") { () throws(DesktopWriteError) in
            guard try DBusServiceFile.isMarked(name, in: serviceDirectory) == true else { return }
            try DBusServiceFile.remove(name, in: serviceDirectory)
        }
    }

    private func isOwn(_ id: DesktopFileID, _ handler: Handler) -> Bool {
        let location = DesktopFile.Location(id: id, file: "\(applicationDirectory)/\(id)", precedence: 0)
        guard case .application(let entry) = DesktopFile(reading: location, languages: []).content else { return false }
        return entry.handler == handler.id.rawValue
    }

    private mutating func updateCache(_ changes: inout Changes) {
        let claims = changes.claims
        guard !claims.isEmpty else { return }
        changes.attempt(cache.path) { () throws(DesktopWriteError) in
            let isKnown = claims.values.allSatisfy { $0.before != nil }
            guard isKnown, claims.count <= Self.editLimit else { return try cache.rebuild() }
            for (id, types) in claims { try cache.update(id, claims: types.now, insteadOf: types.before ?? []) }
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

    /// The types of what it opens.
    fileprivate var mimeTypes: [String] { schemes.map(\.mimeType) }

    /// What the desktop knows the handler by; `nil` where it opens nothing.
    var desktopFileID: DesktopFileID? {
        schemes.isEmpty ? nil : DesktopFileID(rawValue: "\(id).desktop")
    }
}

extension DesktopEntry {
    fileprivate func isIn(_ directory: String) -> Bool { file == "\(directory)/\(id)" }
}
