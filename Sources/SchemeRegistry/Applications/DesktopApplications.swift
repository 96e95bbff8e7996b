public import Desktop
public import UserFiles

/// The desktop's applications that open URLs, in the desktop's own order.
///
/// Entries that the registry wrote for its own handlers are not among them. If one of those entries is a default, its
/// handler is the default.
///
/// It is a class because copies of a registry share it.
public final class DesktopApplications: Sendable {
    /// The applications by their ids, each once.
    public let all: [DesktopEntry]
    /// Problems in the desktop's files.
    public let diagnostics: [Diagnostic]

    let entries: DesktopEntries
    private let associations: MimeAssociations
    private let positions: [DesktopFileID: Int]
    private let byScheme: [Scheme: [Int]]
    /// The schemes for which the desktop's files choose, add or remove a handler's entry.
    private let choices: Set<Scheme>

    /// Creates an empty set of applications, for a system without a desktop.
    public convenience init() {
        self.init(entries: DesktopEntries(), associations: MimeAssociations())
    }

    /// Reads the desktop's files. Blocks while it reads.
    public convenience init(loading directories: DesktopDirectories) {
        self.init(entries: DesktopEntries(loading: directories), associations: MimeAssociations(loading: directories))
    }

    /// Creates the applications from the given desktop entries and associations.
    public init(entries: DesktopEntries, associations: MimeAssociations) {
        self.entries = entries
        self.associations = associations
        diagnostics = entries.diagnostics + associations.diagnostics
        all = entries.entries.values.filter { !$0.isOwn }.sorted { $0.id < $1.id }
        var positions: [DesktopFileID: Int] = [:]
        for (position, entry) in all.enumerated() { positions[entry.id] = position }
        self.positions = positions

        let claimed = all.flatMap(\.urlSchemes) + associations.urlSchemes
        var byScheme: [Scheme: [Int]] = [:]
        var choices: Set<Scheme> = []
        for scheme in Set(claimed.compactMap(Scheme.init(ofDesktop:))) {
            let candidates = associations.candidates(for: scheme.mimeType, in: entries).compactMap { positions[$0.id] }
            if !candidates.isEmpty { byScheme[scheme] = candidates }
            if associations.names(for: scheme.mimeType).contains(where: entries.mayBelongToHandler) {
                choices.insert(scheme)
            }
        }
        self.byScheme = byScheme
        self.choices = choices
    }

    /// The application with the given id.
    public subscript(id: DesktopFileID) -> DesktopEntry? { positions[id].map { all[$0] } }

    /// Returns the applications that claim a scheme, in the desktop's own order.
    public func claiming(_ scheme: Scheme) -> [DesktopEntry] {
        byScheme[scheme, default: []].map { all[$0] }
    }

    /// All schemes that at least one application opens.
    public var schemes: some Collection<Scheme> { byScheme.keys }

    /// Returns the schemes that an application claims or that the user has assigned to it, in byte order.
    public func schemes(of id: DesktopFileID) -> [Scheme] {
        guard let position = positions[id] else { return [] }
        return byScheme.compactMap { $1.contains(position) ? $0 : nil }.sorted()
    }

    /// Returns whether an application may open a type, because its entry claims the type or because a file assigns it.
    func mayOpen(_ type: MimeType, _ id: DesktopFileID) -> Bool {
        associations.candidates(for: type.rawValue, in: entries).contains { $0.id == id }
    }

    /// All schemes for which the desktop has an application or a choice.
    public var concernedSchemes: Set<Scheme> { Set(byScheme.keys).union(choices) }

    /// Returns whether the desktop has an application or a choice for a scheme.
    func concern(_ scheme: Scheme) -> Bool { byScheme[scheme] != nil || choices.contains(scheme) }

    /// Returns the applications and the handlers' entries for a MIME type, in the desktop's own order.
    ///
    /// This is GLib's order: first the defaults, then, for each directory, the associations that its file adds and the
    /// entries that claim the type, in the order of their names.
    ///
    /// - Parameters:
    ///   - type: the type in lower case. For a scheme, the type that stands for the scheme.
    ///   - handlers: the handlers that claim the type. A handler without its own entry has no place.
    func places(for type: String, with handlers: [Handler]) -> [DesktopPlace] {
        var holders: [DesktopFileID: Claimant] = [:]
        var claims = entries.claims(of: type)
        for handler in handlers {
            guard let claim = entries.claim(of: handler) else { continue }
            holders[claim.id] = .handler(handler)
            claims.append(claim)
        }
        claims.sort { ($0.precedence, $0.id) < ($1.precedence, $1.id) }
        let defaults = associations.defaults(for: type)
        let others = associations.associations(with: type, claims: claims, in: entries)
        let ids = Set(defaults)
        let places =
            defaults.map { ($0, DesktopPlace.Reason.default) }
            + others.filter { !ids.contains($0.id) }.map { ($0.id, $0.isAdded ? .addition : .claim) }
        return places.compactMap { id, reason in
            (holders[id] ?? self[id].map(Claimant.application)).map {
                DesktopPlace(id: id, claimant: $0, reason: reason)
            }
        }
    }

    /// Returns whether a file makes an application the default for a scheme.
    func isDefault(_ id: String?, for scheme: Scheme) -> Bool {
        associations.defaults(for: scheme.mimeType).contains { $0.rawValue == id }
    }

    /// Returns the entry that the desktop itself would use for a scheme. The registry may have written it.
    func desktopChoice(for scheme: Scheme) -> DesktopEntry? {
        associations.defaultApplication(for: scheme.mimeType, in: entries)
    }
}

/// A place in the desktop's own order, and the handler or application in that place.
struct DesktopPlace {
    /// The reason for the place.
    enum Reason {
        /// A file makes the entry a default.
        case `default`
        /// A file adds the entry to the scheme.
        case addition
        /// The entry claims the scheme.
        case claim
    }

    let id: DesktopFileID
    let claimant: Claimant
    let reason: Reason
}

extension DesktopEntries {
    /// Returns the claim made by a handler's entry; `nil` if the entry is not published, or if another program's file
    /// hides it.
    ///
    /// If the entry does not exist yet, it is about to be written to the user's directory.
    fileprivate func claim(of handler: Handler) -> Claim? {
        guard handler.isPublished, let id = handler.desktopFileID else { return nil }
        guard hasFile(of: id) else { return Claim(precedence: 0, id: id) }
        guard let entry = entries[id], entry.handler ?? handler.id.rawValue == handler.id.rawValue, entry.isOwn,
            isFirstFile(of: id, in: entry.precedence)
        else { return nil }
        return Claim(precedence: entry.precedence, id: id)
    }

    /// Returns whether an entry is or may become a handler's. An entry that does not exist may be about to be written.
    fileprivate func mayBelongToHandler(_ id: DesktopFileID) -> Bool { entries[id]?.isOwn ?? !hasFile(of: id) }
}

extension DesktopEntry {
    /// Whether the entry leads back to the router: the registry wrote it, it stands for the router itself, or its
    /// program is the `openurl` command.
    package var isOwn: Bool {
        handler != nil || busName == BundleIdentifier.routerName
            || command?.program.split(separator: "/").last == "openurl"
    }
}

extension Scheme {
    /// The MIME type that stands for the scheme on the desktop.
    public var mimeType: String { schemeHandlerType(rawValue) }

    /// Creates a scheme from a string in a desktop file; `nil` if the string is not a scheme.
    init?(ofDesktop text: String) {
        do throws(ParseError) {
            try self.init(text)
        } catch {
            return nil
        }
    }
}
