public import Desktop

/// Which handler claims which scheme, and why this one wins: all that one look at the directories found.
///
/// A value that never changes. A router keeps one, and replaces it when a new one has been loaded elsewhere.
public struct Registry: Sendable {
    /// The handlers, those of fixed schemes first, then by directory, date of registration and id.
    public let handlers: [Handler]
    /// What is wrong with the rest, file by file in the order of loading, then what only all of them together show.
    public let diagnostics: [Diagnostic]

    private let positions: [BundleIdentifier: Int]
    private let index: [Scheme: SchemeClaims]
    /// What the desktop has besides.
    public var applications: Applications

    /// A registry of handlers that were loaded, or made by a test.
    ///
    /// Of several with one id the first counts: a fixed one, else the one of the first directory. What is wrong with that
    /// is added to the diagnostics of before.
    public init(
        handlers loaded: [Handler],
        applications: Applications = Applications(),
        diagnostics: [Diagnostic] = []
    ) {
        var handlers: [Handler] = []
        var positions: [BundleIdentifier: Int] = [:]
        var index: [Scheme: SchemeClaims] = [:]
        var diagnostics = diagnostics
        index.reserveCapacity(loaded.reduce(0) { $0 + $1.claims.reduce(0) { $0 + $1.schemes.count } })
        for var handler in loaded.sorted(by: Handler.precedes) {
            if let first = positions[handler.id].map({ handlers[$0] }) {
                diagnostics += first.diagnosticOfDuplicate(handler)
                continue
            }
            // Fixed handlers come first in the order, so all of their schemes are known by now.
            if !handler.isFixed {
                diagnostics += handler.withdrawClaims { index[$0]?.fixedHandler(in: handlers)?.id }
            }
            let position = handlers.count
            for claim in handler.claims {
                for scheme in claim.schemes { index[scheme, default: SchemeClaims()].add(position, hosts: claim.hosts) }
            }
            positions[handler.id] = position
            handlers.append(handler)
        }
        self.handlers = handlers
        self.positions = positions
        self.index = index
        self.applications = applications
        self.diagnostics = diagnostics
    }

    /// The handler with an id.
    public subscript(id: BundleIdentifier) -> Handler? {
        positions[id].map { handlers[$0] }
    }

    /// The schemes that a handler or an application claims, in byte order.
    public var schemes: [Scheme] { Set(index.keys).union(applications.schemes).sorted() }

    /// The claims of the registry's handlers that apply to a URL, in their order.
    func handlerClaims(for scheme: Scheme, host: String?) -> [(handler: Handler, host: HostPattern?)] {
        var seen: Set<Int> = []
        let claims = (index[scheme]?.lists(for: host) ?? []).flatMap { list in
            list.positions.filter { seen.insert($0).inserted }.map { (handler: handlers[$0], host: list.host) }
        }
        return claims.filter(\.handler.isFixed) + claims.filter { !$0.handler.isFixed }
    }

    /// The handlers that claim a scheme: first those of any host, the winner for a URL without a host leading, then those
    /// of certain hosts only.
    public func handlers(claiming scheme: Scheme) -> [Handler] {
        (index[scheme]?.positions ?? []).map { handlers[$0] }
    }

    /// The handler that gets a URL among those of the registry; ``winner(for:host:)`` asks the desktop's applications too.
    ///
    /// One look into a hash table, and one for each label of the host where a handler asks for certain hosts. The host is
    /// as it is written in the URL, and `nil` if that has none.
    public func handler(for scheme: Scheme, host: String?) -> Handler? {
        guard let claims = index[scheme] else { return nil }
        guard claims.dependsOnHost else { return claims.positions.first.map { handlers[$0] } }
        let first = claims.lists(for: host).compactMap(\.positions.first)
        return (first.first { handlers[$0].isFixed } ?? first.first).map { handlers[$0] }
    }

    /// The schemes that more than one handler claims for the same URLs, in byte order.
    public var conflicts: [Conflict] {
        index.compactMap { scheme, claims in
            let rivals = claims.rivals
            guard rivals.contains(where: { !handlers[$0].isFixed }) else { return nil }
            return Conflict(scheme: scheme, handlers: rivals.map { handlers[$0].id })
        }
        .sorted { $0.scheme < $1.scheme }
    }
}

extension Handler {
    /// Takes schemes off the claims that belong to another handler whatever the host, with a warning for each.
    fileprivate mutating func withdrawClaims(of owner: (Scheme) -> BundleIdentifier?) -> [Diagnostic] {
        var diagnostics: [Diagnostic] = []
        for (type, claim) in claims.enumerated() {
            for (position, scheme) in claim.schemes.enumerated() {
                guard let owner = owner(scheme) else { continue }
                claims[type].schemes.removeAll { $0 == scheme }
                diagnostics.append(
                    Diagnostic(
                        severity: .warning,
                        file: manifestFile,
                        key: "CFBundleURLTypes[\(type)].CFBundleURLSchemes[\(position)]",
                        reason: "\(scheme) is a fixed scheme and stays with \(owner)"
                    )
                )
            }
        }
        claims.removeAll(where: \.schemes.isEmpty)
        return diagnostics
    }

    /// What to say about another handler with the same id that is not registered because of this one.
    fileprivate func diagnosticOfDuplicate(_ other: Handler) -> [Diagnostic] {
        // A handler of an earlier directory stands for those of later ones: that is how a user replaces one.
        guard other.precedence <= precedence else { return [] }
        let reason =
            isFixed
            ? "is \(id), a fixed system handler that cannot be replaced"
            : "is \(id), which \(printable(entry)) declares already"
        return [Diagnostic(severity: .error, file: other.manifestFile, key: "CFBundleIdentifier", reason: reason)]
    }
}
