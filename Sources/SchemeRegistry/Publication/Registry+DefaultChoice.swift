public import Desktop
public import UserFiles

/// The URLs or files for which a user chooses a handler or an application.
public enum ChosenKind: Sendable, Hashable, CustomStringConvertible {
    /// The URLs with a scheme.
    case scheme(Scheme)
    /// The files of a type.
    case type(MimeType)

    /// Parses a scheme or a MIME type; the latter has a slash.
    init(_ text: String) throws(DefaultError) {
        guard !text.contains("/") else {
            guard let type = MimeType(text) else { throw .badType(text) }
            self = .type(type)
            return
        }
        do throws(Scheme.ParseError) {
            self = .scheme(try Scheme(text))
        } catch {
            throw .badScheme(text, error)
        }
        if self == .scheme(.reply) { throw .routersOwn(.reply) }
    }

    /// The MIME type by which the desktop knows the choice.
    var mimeType: String {
        switch self {
        case .scheme(let scheme): scheme.mimeType
        case .type(let type): type.rawValue
        }
    }

    /// The scheme with a colon, or the type.
    public var description: String {
        switch self {
        case .scheme(let scheme): "\(scheme):"
        case .type(let type): type.rawValue
        }
    }
}

/// Why a user's choice for a scheme or a type of file was not saved.
public enum DefaultError: Error, Hashable, CustomStringConvertible {
    /// The text is not a scheme.
    case badScheme(String, Scheme.ParseError)
    /// Only the router gets URLs with this scheme.
    case routersOwn(Scheme)
    /// The text is not a MIME type for files.
    case badType(String)
    /// No handler or application has this name.
    case unknown(String)
    /// The handler does not claim the scheme or the type, or it is a system handler without a program.
    case notClaimed(BundleIdentifier, ChosenKind)
    /// The scheme stays with a system handler, whose URLs go to an application.
    case fixed(Scheme, owner: BundleIdentifier)
    /// The application does not claim the scheme or the type, and none of the desktop's files assigns it.
    case notAssigned(DesktopFileID, ChosenKind)
    /// The desktop has no entry for the handler.
    case notPublished(BundleIdentifier)
    /// No handler claims the scheme, or the router's entry is missing.
    case routerNotNeeded(ChosenKind)
    /// There is no directory for the user's configuration: neither `XDG_CONFIG_HOME` nor `HOME` is an absolute path.
    case noConfigurationDirectory
    /// The file could not be written.
    case file(FileWriteError)

    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .badScheme(let text, let error): "the scheme '\(printable(text))' \(error)"
        case .routersOwn(let scheme): "the URLs of \(scheme): belong to the router"
        case .badType(let text): "'\(printable(text))' is not a MIME type of files, such as image/png"
        case .unknown(let id):
            "there is no handler or application called \(printable(id)); `openurl list` shows them all"
        case .notClaimed(let id, let kind): "\(id) does not claim \(kind) in its manifest"
        case .fixed(let scheme, let owner):
            "\(scheme): stays with \(owner), which passes the URLs to an application; 'openurl default \(scheme) NAME.desktop' "
                + "chooses the application"
        case .notAssigned(let id, let kind):
            "\(id) does not claim \(kind) in its desktop entry, which needs MimeType=\(kind.mimeType)"
        case .notPublished(let id):
            "\(id) has no desktop entry that can be chosen: another program's is in its place, or it could not be written, "
                + "or the manifest has OUReach local"
        case .routerNotNeeded(let kind):
            "openurl itself can only be chosen for the scheme of a registered handler, and \(kind) is none, or "
                + "org.openurl.Router1.desktop is not installed"
        case .noConfigurationDirectory:
            "there is no directory for the choice; set HOME or XDG_CONFIG_HOME to an absolute path"
        case .file(let error): error.description
        }
    }
}

extension Registry {
    /// Writes the user's choice to `mimeapps.list`, which the desktop and other programs read too.
    ///
    /// This blocks while it reads and writes files. Load the applications again afterwards.
    ///
    /// - Parameters:
    ///   - id: the id of a handler, or the name of a desktop file. If it is empty, the choice is removed.
    ///   - kind: a scheme, or a MIME type for files.
    ///   - directories: the desktop's directories.
    public func setDefault(
        _ id: String,
        for kind: String,
        in directories: DesktopDirectories
    ) throws(DefaultError) {
        guard let file = MimeAssociationsFile(in: directories) else { throw .noConfigurationDirectory }
        let kind = try ChosenKind(kind)
        if let own = try routerEntry(id, for: kind) {
            // The router's entry comes first, and stays there when the user chooses another handler.
            let next = id == own.rawValue ? firstPlace(kind) : try desktopFile(id, opening: kind)
            do throws(FileWriteError) {
                return try file.setDefault(own, before: next, for: kind.mimeType)
            } catch {
                throw .file(error)
            }
        }
        let target = id.isEmpty ? nil : try desktopFile(id, opening: kind)
        do throws(FileWriteError) {
            if let target {
                try file.setDefault(target, for: [kind.mimeType])
            } else {
                try file.removeDefault(for: kind.mimeType)
            }
        } catch {
            throw .file(error)
        }
    }

    /// The schemes whose URLs are the router's on the desktop: those of its handlers, and those for which the user has chosen
    /// the router.
    package var routedSchemes: Set<String> {
        var schemes = Set(publishedHandlers.filter { $0.desktopFileID != nil }.flatMap(\.schemes))
        schemes.formUnion(applications.concernedSchemes.filter(applications.leadsToRouter))
        return Set(schemes.map(\.rawValue))
    }

    /// Returns the router's own entry if the user chooses it for a handler's scheme, or has chosen it before.
    ///
    /// - Throws: `routerNotNeeded` if the user chooses it for anything else.
    private func routerEntry(_ id: String, for kind: ChosenKind) throws(DefaultError) -> DesktopFileID? {
        guard let own = DesktopFileID(name: BundleIdentifier.routerName) else { return nil }
        guard case .scheme(let scheme) = kind,
            handlers(claiming: scheme).contains(where: { $0.isPublished && $0.desktopFileID != nil }),
            applications.entries.entries[own]?.isDBusActivatable == true
        else {
            if id == own.rawValue { throw .routerNotNeeded(kind) }
            return nil
        }
        return id == own.rawValue || !id.isEmpty && applications.leadsToRouter(scheme) ? own : nil
    }

    /// Returns the entry that the desktop would use without the router's.
    private func firstPlace(_ kind: ChosenKind) -> DesktopFileID? {
        guard case .scheme(let scheme) = kind else { return nil }
        return applications.places(for: kind.mimeType, with: handlers(claiming: scheme)).first?.id
    }

    /// Returns the schemes and types of files that a new handler takes from other claimants.
    func kinds(takenBy handler: Handler, from earlier: Registry) -> [(kind: ChosenKind, claimant: Claimant)] {
        schemes(takenBy: handler, from: earlier).map { (.scheme($0), $1) }
            + fileTypes(takenBy: handler, from: earlier).map { (.type($0), $1) }
    }

    /// Makes the claimants of some schemes and types the user's defaults, which is what a user would do to keep them.
    ///
    /// - Returns: the choices that could not be written.
    func keepDefaults(
        _ claimants: [(kind: ChosenKind, claimant: Claimant)],
        in directories: DesktopDirectories
    ) -> [Diagnostic] {
        var problems: [Diagnostic] = []
        var kinds: [String: [ChosenKind]] = [:]
        for (kind, claimant) in claimants { kinds[claimant.id, default: []].append(kind) }
        for (claimant, kinds) in kinds.sorted(by: { $0.key < $1.key }) {
            do throws(DefaultError) {
                try setDefault(claimant, for: kinds, in: directories)
            } catch {
                let file = directories.writtenAssociationFile ?? "mimeapps.list"
                let taken = kinds.map { "\($0)" }.joined(separator: ", ")
                let reason =
                    "the handler takes \(taken) from \(claimant), which could not be made the default: \(error)"
                problems.append(Diagnostic(severity: .warning, file: file, reason: reason))
            }
        }
        return problems
    }

    /// Writes several choices for one claimant in one step.
    private func setDefault(
        _ id: String,
        for kinds: [ChosenKind],
        in directories: DesktopDirectories
    ) throws(DefaultError) {
        guard let file = MimeAssociationsFile(in: directories) else { throw .noConfigurationDirectory }
        var target: DesktopFileID?
        for kind in kinds { target = try desktopFile(id, opening: kind) }
        guard let target else { return }
        do throws(FileWriteError) {
            try file.setDefault(target, for: kinds.map(\.mimeType))
        } catch {
            throw .file(error)
        }
    }

    /// Removes a handler that is no longer registered from the user's choices, unless another program's entry has its
    /// name.
    ///
    /// - Returns: whether the user's file has changed.
    func forgetDefaults(of handler: Handler, in directories: DesktopDirectories) throws(DefaultError) -> Bool {
        guard let id = handler.desktopFileID, applications.entries.entries[id].map({ $0.handler != nil }) != false,
            let file = MimeAssociationsFile(in: directories)
        else { return false }
        do throws(FileWriteError) {
            var isChanged = try file.remove(
                id,
                for: (handler.schemes.map(\.mimeType) + handler.fileTypes.map(\.rawValue))
            )
            // Without handlers, the router has no use for the URLs.
            let left = handler.schemes.filter { handlers(claiming: $0).allSatisfy { $0.id == handler.id } }
            if let own = DesktopFileID(name: BundleIdentifier.routerName),
                try file.remove(own, for: left.map(\.mimeType))
            {
                isChanged = true
            }
            return isChanged
        } catch {
            throw .file(error)
        }
    }

    private func desktopFile(_ text: String, opening kind: ChosenKind) throws(DefaultError) -> DesktopFileID {
        if let handler = handlers.first(where: { $0.id.rawValue == text }) {
            if case .scheme(let scheme) = kind, let owner = handlers(claiming: scheme).first(where: \.isFixed),
                handler.program == nil || !handler.claims(kind)
            {
                throw .fixed(scheme, owner: owner.id)
            }
            guard handler.claims(kind), handler.program != nil else { throw .notClaimed(handler.id, kind) }
            guard let id = handler.desktopFileID, applications.entries.entries[id]?.handler == text else {
                throw .notPublished(handler.id)
            }
            return id
        }
        guard let id = DesktopFileID(rawValue: text), applications[id] != nil else { throw .unknown(text) }
        let mayOpen =
            switch kind {
            case .scheme(let scheme): applications.claiming(scheme).contains { $0.id == id }
            case .type(let type): applications.mayOpen(type, id)
            }
        guard mayOpen else { throw .notAssigned(id, kind) }
        return id
    }
}

extension Handler {
    fileprivate func claims(_ kind: ChosenKind) -> Bool {
        switch kind {
        case .scheme(let scheme): schemes.contains(scheme)
        case .type(let type): fileTypes.contains(type)
        }
    }
}
