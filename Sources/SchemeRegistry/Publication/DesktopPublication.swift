public import Desktop
public import UserFiles

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

    /// What is wrong with what is published of handlers,
    private var problems: [BundleIdentifier: [Diagnostic]] = [:]
    /// and with the rest.
    private var otherProblems: [Diagnostic] = []
    /// The handlers that somebody else's files stand for, or whose own could not be written or removed.
    private var unpublished: Set<BundleIdentifier> = []
    /// Whether the cache says other than the entries.
    private var isCacheBehind = false

    /// More changes than this to the cache of MIME types, and it is made anew.
    private static let editLimit = 8

    /// The MIME types that entries claim now, and those that they claimed before if that is known.
    private typealias Claims = [DesktopFileID: (now: [String], before: [String]?)]

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

    /// What is wrong with what is published: what could not be written, and which handlers others stand before.
    public var diagnostics: [Diagnostic] { problems.sorted { $0.key < $1.key }.flatMap(\.value) + otherProblems }

    /// What is wrong with what is published of one handler.
    public func diagnostics(of id: BundleIdentifier) -> [Diagnostic] { problems[id, default: []] + otherProblems }

    /// Brings all that is published into line with a registry, and removes what is left of handlers that are gone.
    ///
    /// - Parameter registry: with the desktop's applications as they are now.
    public mutating func publish(_ registry: Registry) {
        problems = [:]
        otherProblems = []
        unpublished = []
        let entries = registry.applications.entries
        let own = (entries.entries.values + entries.ignored).filter { $0.handler != nil && isInPlace($0) }
        let handlers = registry.publishedHandlers
        // A router that ended between an entry and the cache has left them apart.
        isCacheBehind = false
        if !handlers.isEmpty || !own.isEmpty {
            do throws(FileWriteError) {
                isCacheBehind = try !cache.agrees(with: own) { entries.isFirstFile(of: $0, in: 0) }
            } catch {
                isCacheBehind = true
                note(error)
            }
        }
        var claims: Claims = [:]
        for handler in handlers {
            publishService(of: handler)
            guard let id = handler.desktopFileID else { continue }
            let entry = entries.entries[id]
            if let entry, isInPlace(entry), isComplete(entry, handler) { continue }
            publishEntry(of: handler, id, insteadOf: [], beside: entry, &claims)
        }
        let ids = Set(handlers.map(\.id.rawValue))
        let withEntry = Set(handlers.filter { $0.desktopFileID != nil }.map(\.id.rawValue))
        for entry in own {
            if let id = entry.handler, !withEntry.contains(id) { withdrawEntry(entry, of: nil, &claims) }
        }
        do throws(FileWriteError) {
            for name in try DBusServiceFile.marked(in: serviceDirectory) where !ids.contains(name) {
                try DBusServiceFile.remove(name, in: serviceDirectory)
            }
        } catch {
            note(error)
        }
        updateCache(claims)
    }

    /// Brings what is published into line after a change of the registry, looking only at the handlers that differ.
    ///
    /// - Parameters:
    ///   - registry: its applications may be those of before the last changes that were published.
    ///   - isRetrying: whether to look again at those that could not be published, as something else has changed as well.
    public mutating func publish(_ registry: Registry, insteadOf old: Registry, isRetrying: Bool) {
        let (removed, added) = differences(from: old.handlers, to: registry.handlers)
        var ids = Set((removed + added).map(\.id))
        if isRetrying { ids.formUnion(unpublished) }
        unpublished.subtract(ids)
        otherProblems = []
        var claims: Claims = [:]
        for id in ids {
            problems[id] = nil
            let new = registry[id].flatMap { $0.isPublished ? $0 : nil }
            if let new { publishService(of: new) } else { withdrawService(of: id) }
            guard let file = DesktopFileID(rawValue: "\(id).desktop") else { continue }
            if let new, new.desktopFileID != nil {
                let types = old[id]?.mimeTypes ?? []
                let existing = registry.applications.entries.entries[file]
                publishEntry(of: new, file, insteadOf: types, beside: existing, &claims)
            } else if let entry = ownEntry(file, of: id) {
                withdrawEntry(entry, of: id, &claims)
            }
        }
        updateCache(claims)
    }

    /// Whether an entry is what would be written for a handler.
    private func isComplete(_ entry: DesktopEntry, _ handler: Handler) -> Bool {
        entry.handler == handler.id.rawValue && entry.command?.program == command && entry.name == handler.name
            && entry.urlSchemes.sorted() == handler.schemes.map(\.rawValue).sorted()
    }

    /// Whether an entry stands where those of handlers are written.
    private func isInPlace(_ entry: DesktopEntry) -> Bool { entry.file == "\(applicationDirectory)/\(entry.id)" }

    /// Writes a handler's entry, unless somebody else's stands for it.
    ///
    /// - Parameters:
    ///   - types: what the one before claimed, where there is none any more.
    ///   - existing: what the desktop took for it when it was looked at last.
    private mutating func publishEntry(
        of handler: Handler,
        _ id: DesktopFileID,
        insteadOf types: [String],
        beside existing: DesktopEntry?,
        _ claims: inout Claims
    ) {
        let file = "\(applicationDirectory)/\(id)"
        let isThere = DesktopEntryFile.exists(id, in: applicationDirectory)
        let own = ownEntry(id, of: handler.id)
        if own == nil, let existing, isThere || !isInPlace(existing), !isInPlace(existing) || existing.handler == nil {
            if isComplete(existing, handler) || existing.handler == nil && existing.isOwn {
                // An entry of a package that leads to the command is as good as one that is written here.
                unpublished.insert(handler.id)
                return
            }
            if existing.handler != handler.id.rawValue {
                let reason = "is another program's entry, which the desktop takes instead of \(handler.id)"
                return fail(handler.id, Diagnostic(severity: .warning, file: existing.file, reason: reason))
            }
        }
        guard !isThere || own != nil || DesktopEntryFile.isLost(id, in: applicationDirectory) else {
            let reason = "is in the place of the entry for \(handler.id), and was not written for it"
            return fail(handler.id, Diagnostic(severity: .warning, file: file, reason: reason))
        }
        do {
            var entry = try DesktopEntryFile(name: handler.name, command: [command, "--"], urls: .one)
            entry.mimeTypes = handler.mimeTypes
            entry.isHiddenFromMenus = true
            entry.handler = handler.id.rawValue
            try entry.write(as: id, in: applicationDirectory, isDurable: false)
            claims[id] = (entry.mimeTypes, isThere ? own?.mimeTypes : types)
        } catch let error as FileWriteError {
            fail(handler.id, diagnostic(error))
        } catch {
            fail(handler.id, Diagnostic(severity: .warning, file: file, reason: String(describing: error)))
        }
    }

    private mutating func publishService(of handler: Handler) {
        let name = handler.id.rawValue
        guard var service = DBusServiceFile(name: name, command: [command, "activate", "--background", name]) else {
            return
        }
        service.handler = name
        do throws(FileWriteError) {
            guard !otherServiceDirectories.contains(where: { DBusServiceFile.exists(name, in: $0) }),
                try DBusServiceFile.isMarked(name, in: serviceDirectory) ?? true
                    || DBusServiceFile.isLost(name, in: serviceDirectory)
            else { return }
            try service.write(in: serviceDirectory, isDurable: false)
        } catch {
            fail(handler.id, diagnostic(error))
        }
    }

    /// - Parameter handler: the one that it was written for, if there might be one of this id.
    private mutating func withdrawEntry(_ entry: DesktopEntry, of handler: BundleIdentifier?, _ claims: inout Claims) {
        do throws(FileWriteError) {
            try DesktopEntryFile.remove(entry.id, in: applicationDirectory)
        } catch {
            if let handler { fail(handler, diagnostic(error)) } else { note(error) }
        }
        claims[entry.id] = ([], entry.mimeTypes)
    }

    private mutating func withdrawService(of id: BundleIdentifier) {
        do throws(FileWriteError) {
            guard try DBusServiceFile.isMarked(id.rawValue, in: serviceDirectory) == true else { return }
            try DBusServiceFile.remove(id.rawValue, in: serviceDirectory)
        } catch {
            fail(id, diagnostic(error))
        }
    }

    /// The entry that was written for a handler.
    private func ownEntry(_ id: DesktopFileID, of handler: BundleIdentifier) -> DesktopEntry? {
        let location = DesktopFile.Location(id: id, file: "\(applicationDirectory)/\(id)", precedence: 0)
        guard case .application(let entry) = DesktopFile(reading: location, languages: []).content,
            entry.handler == handler.rawValue
        else { return nil }
        return entry
    }

    private mutating func updateCache(_ claims: Claims) {
        guard !claims.isEmpty || isCacheBehind else { return }
        let isKnown = !isCacheBehind && claims.values.allSatisfy { $0.before != nil }
        isCacheBehind = true
        do throws(FileWriteError) {
            if isKnown, claims.count <= Self.editLimit {
                for (id, types) in claims { try cache.update(id, claims: types.now, insteadOf: types.before ?? []) }
            } else {
                try cache.rebuild()
            }
            isCacheBehind = false
        } catch {
            note(error)
        }
    }

    private mutating func fail(_ id: BundleIdentifier, _ problem: Diagnostic) {
        problems[id, default: []].append(problem)
        unpublished.insert(id)
    }

    private mutating func note(_ error: FileWriteError) {
        let problem = diagnostic(error)
        if !otherProblems.contains(problem) { otherProblems.append(problem) }
    }

    private func diagnostic(_ error: FileWriteError) -> Diagnostic {
        Diagnostic(severity: .warning, file: error.file, reason: error.reason)
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
