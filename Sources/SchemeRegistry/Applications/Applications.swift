public import Desktop
public import UserFiles

/// The desktop's applications that open URLs, in the order in which the desktop would take them.
///
/// Entries that the registry wrote for its own handlers are no applications: where one is a default, its handler is meant.
public struct Applications: Sendable {
    /// The applications, each once, by id.
    public let all: [DesktopEntry]
    /// What is wrong with the desktop's files.
    public let diagnostics: [Diagnostic]

    let entries: DesktopEntries
    private let associations: MimeAssociations
    private let positions: [DesktopFileID: Int]
    private let byScheme: [Scheme: [Int]]
    private let defaults: [Scheme: [Default]]

    /// No applications, as where there is no desktop.
    public init() {
        self.init(entries: DesktopEntries(), associations: MimeAssociations())
    }

    /// Reads the desktop's files, which blocks on them.
    public init(loading directories: DesktopDirectories) {
        self.init(entries: DesktopEntries(loading: directories), associations: MimeAssociations(loading: directories))
    }

    /// The applications of a desktop's files.
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
        var defaults: [Scheme: [Default]] = [:]
        for scheme in Set(claimed.compactMap(Scheme.init(ofDesktop:))) {
            let candidates = associations.candidates(for: scheme.mimeType, in: entries).compactMap { positions[$0.id] }
            if !candidates.isEmpty { byScheme[scheme] = candidates }
            let chosen = associations.defaults(for: scheme.mimeType).compactMap(entries.default)
            if !chosen.isEmpty { defaults[scheme] = chosen }
        }
        self.byScheme = byScheme
        self.defaults = defaults
    }

    /// The application with an id.
    public subscript(id: DesktopFileID) -> DesktopEntry? { positions[id].map { all[$0] } }

    /// The applications for a scheme, the one that the desktop would take first.
    public func claiming(_ scheme: Scheme) -> [DesktopEntry] {
        byScheme[scheme, default: []].map { all[$0] }
    }

    /// The schemes that any application opens.
    public var schemes: some Collection<Scheme> { byScheme.keys }

    /// The schemes that an application claims, or that the user has given to it.
    public func schemes(of id: DesktopFileID) -> [Scheme] {
        guard let position = positions[id] else { return [] }
        return byScheme.compactMap { $1.contains(position) ? $0 : nil }.sorted()
    }

    /// What the user or the system chose for a scheme, in the precedence of the desktop's files.
    func defaults(for scheme: Scheme) -> [Default] { defaults[scheme, default: []] }

    /// The schemes in which the desktop has a say.
    public var concernedSchemes: Set<Scheme> { Set(byScheme.keys).union(defaults.keys) }

    /// Whether the desktop may have a say in who gets the URLs of a scheme.
    func concern(_ scheme: Scheme) -> Bool { byScheme[scheme] != nil || defaults[scheme] != nil }

    /// What the desktop itself would open a scheme with, which may be an entry of the registry's own.
    func desktopChoice(for scheme: Scheme) -> DesktopEntry? {
        associations.defaultApplication(for: scheme.mimeType, in: entries)
    }
}

/// What a desktop file that is somebody's choice for a scheme stands for.
enum Default: Sendable, Hashable {
    /// An application that is installed.
    case application(DesktopFileID)
    /// The handler of this id, if there is one.
    case handler(String)
}

extension DesktopEntries {
    /// What a desktop file stands for; `nil` if there is one and it is of no use.
    fileprivate func `default`(_ id: DesktopFileID) -> Default? {
        if let entry = entries[id] { return entry.handler.map(Default.handler) ?? .application(id) }
        // A handler's entry is read a moment after it was written, and yet the handler is the default at once.
        return hasFile(of: id) ? nil : .handler(String(id.rawValue.dropLast(DesktopFileID.suffix.count)))
    }
}

extension DesktopEntry {
    /// Whether it leads back to the router: the registry wrote it, it stands for the router itself, or its program is the
    /// command of this system.
    var isOwn: Bool {
        handler != nil || busName == BundleIdentifier.routerName
            || command?.program.split(separator: "/").last == "openurl"
    }
}

extension Scheme {
    /// The MIME type by which the desktop knows the scheme.
    public var mimeType: String { schemeHandlerType(rawValue) }

    /// A scheme out of the desktop's files; `nil` for what no URL can have, which those files may hold.
    init?(ofDesktop text: String) {
        do throws(ParseError) {
            try self.init(text)
        } catch {
            return nil
        }
    }
}
