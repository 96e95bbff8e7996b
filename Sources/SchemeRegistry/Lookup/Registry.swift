internal import Desktop
public import UserFiles
public import WebLinks

/// All handlers' claims, and the rules that choose a handler or an application for a URL.
///
/// A registry is a value. A router keeps the current one, and replaces it when a newer one has been loaded elsewhere.
public struct Registry: Sendable {
    /// Problems in the files, in the order of loading, and then problems between handlers.
    public private(set) var diagnostics: [Diagnostic] = []
    /// Manifests with errors, by the schemes that they claim or claimed before.
    public internal(set) var brokenManifests: [Scheme: String] = [:]
    /// The desktop's applications.
    public var applications: DesktopApplications

    private var index = HandlerIndex()
    /// The schemes that belong to one handler for all hosts.
    private var fixed: [Scheme: BundleIdentifier] = [:]
    /// The handlers that are running and have claimed schemes for as long as they run.
    private var claimed: [Scheme: BundleIdentifier] = [:]

    /// All handlers: first those with fixed schemes, then the others by directory, date of registration and id.
    public var handlers: [Handler] { index.handlers }

    /// Creates a registry of handlers.
    ///
    /// If several have the same id, the fixed one counts; if none is fixed, the one from the first directory does. The
    /// resulting problems are added to `diagnostics`.
    public init(
        handlers loaded: [Handler],
        applications: DesktopApplications = DesktopApplications(),
        diagnostics: [Diagnostic] = []
    ) {
        self.applications = applications
        _ = update(handlers: loaded, diagnostics: diagnostics)
    }

    /// Replaces the handlers. The more of them have changed, the longer this takes.
    ///
    /// - Returns: the handlers that were removed or added. A changed handler is in both groups.
    mutating func update(handlers loaded: [Handler], diagnostics: [Diagnostic]) -> [Handler] {
        self.diagnostics = diagnostics
        let sorted = loaded.sorted(by: Handler.precedes)
        let fixedBefore = fixed
        fixed = sorted.fixedSchemes
        let keepsFixed = fixed == fixedBefore

        var handlers: [Handler] = []
        handlers.reserveCapacity(sorted.count)
        var newcomers: [BundleIdentifier: Handler] = [:]
        // The previous handlers that the loop has not reached yet, and the ids of those that no longer exist.
        var known = index.handlers[...]
        var gone: Set<BundleIdentifier> = []
        for var handler in sorted {
            while let first = known.first, Handler.precedes(first, handler) { gone.insert(known.removeFirst().id) }
            // If a handler and all its claims are unchanged, check it against the fixed schemes only if these have
            // changed.
            if known.first == handler, handler.isFixed || keepsFixed {
                known.removeFirst()
                if let first = newcomers[handler.id] {
                    self.diagnostics += first.diagnosticOfDuplicate(handler)
                    continue
                }
            } else {
                let old = index[handler.id]
                let kept = old.flatMap { Handler.precedes($0, handler) && !gone.contains($0.id) ? $0 : nil }
                if let first = newcomers[handler.id] ?? kept {
                    self.diagnostics += first.diagnosticOfDuplicate(handler)
                    continue
                }
                if !handler.isFixed { self.diagnostics += handler.withdrawClaims { fixed[$0] } }
                newcomers[handler.id] = handler
            }
            handlers.append(handler)
        }
        return index.update(handlers)
    }

    /// Adds a handler if it affects no other handler and no fixed scheme. This takes time proportional to the number of
    /// its schemes plus the number of the handlers after it.
    ///
    /// - Returns: whether the handler was added; otherwise ``update(handlers:diagnostics:)`` adds it.
    mutating func insert(_ handler: Handler) -> Bool {
        guard !handler.isFixed, index[handler.id] == nil,
            !handler.schemes.contains(where: { fixed[$0] != nil || $0.isOfBrowsers })
        else {
            return false
        }
        index.insert(handler)
        return true
    }

    /// Returns this registry together with the handlers that a router has in memory.
    ///
    /// Such a handler replaces the one with the same id that a file declares, but a fixed handler keeps its schemes.
    public func adding(_ temporary: [TemporaryHandler]) -> Registry {
        guard !temporary.isEmpty else { return self }
        var registry = self
        let ids = Set(temporary.map(\.handler.id))
        let others = handlers.filter { !ids.contains($0.id) }
        _ = registry.update(handlers: others + temporary.map(\.handler), diagnostics: diagnostics)
        for handler in temporary {
            for scheme in handler.claimed where !registry.handlers(claiming: scheme).contains(where: \.isFixed) {
                registry.claimed[scheme] = handler.handler.id
            }
        }
        return registry
    }

    /// Returns the handler that is running and has claimed a scheme for as long as it runs.
    public func runningClaimant(of scheme: Scheme) -> Handler? {
        // There is almost never such a handler.
        claimed.isEmpty ? nil : claimed[scheme].flatMap { index[$0] }
    }

    /// Returns the handler with an id; `nil` if the text is not an id, or no handler has it.
    public func handler(named text: String) -> Handler? {
        do throws(BundleIdentifier.ParseError) {
            return index[try BundleIdentifier(text)]
        } catch {
            return nil
        }
    }

    /// The handler with the given id.
    public subscript(id: BundleIdentifier) -> Handler? { index[id] }

    /// All schemes that a handler or an application claims, in byte order.
    public var schemes: [Scheme] { Set(index.schemes).union(applications.schemes).sorted() }

    /// Returns the handlers' claims that apply to a URL, in the handlers' order.
    func handlerClaims(for scheme: Scheme, host: String?) -> [(handler: Handler, host: HostPattern?)] {
        index.claims(for: scheme, host: host)
    }

    /// Returns the handlers' claims on files with a property, by rank, then in the handlers' order.
    func handlerClaims(on key: FileKey) -> [(handler: Handler, rank: HandlerRank)] { index.handlers(claiming: key) }

    /// Returns the handlers whose manifests claim links to a host, in the registry's order, whether or not a proof allows
    /// it.
    public func handlers(claimingLinksTo host: WebHost) -> [Handler] { index.handlers(claimingLinksTo: host) }

    /// The hosts whose links handlers claim, in byte order.
    public var linkHosts: [WebHost] { index.linkHosts.sorted() }

    /// Returns the handlers that claim a scheme.
    ///
    /// The handlers for all hosts come first, beginning with the winner for a URL without a host, then those for
    /// certain hosts only.
    public func handlers(claiming scheme: Scheme) -> [Handler] {
        index.handlers(claiming: scheme)
    }

    /// Returns the registry's handler that gets a URL. ``winner(for:host:)`` also considers the desktop's applications.
    ///
    /// This takes one access to a hash table and, if a handler for the scheme restricts its hosts, one more for each
    /// label in the host.
    ///
    /// - Parameters:
    ///   - scheme: the URL's scheme.
    ///   - host: the host as written in the URL; `nil` if the URL has no host.
    public func handler(for scheme: Scheme, host: String?) -> Handler? {
        index.winner(for: scheme, host: host)
    }

    /// Returns those schemes in `some` whose URLs without a host go to a different claimant than in the other registry,
    /// in byte order.
    public func schemes(_ some: Set<Scheme>, withWinnersOtherThanIn other: Registry) -> [Scheme] {
        some.filter { destination(of: $0) != other.destination(of: $0) }.sorted()
    }

    /// Returns the schemes that a handler has taken from other claimants since an earlier registry, each with that
    /// claimant. A claimant that no longer claims the scheme has lost nothing.
    func schemes(takenBy handler: Handler, from earlier: Registry) -> [(scheme: Scheme, claimant: Claimant)] {
        handler.schemes.compactMap { scheme in
            guard winner(for: scheme, host: nil)?.id == handler.id.rawValue,
                let before = earlier.winner(for: scheme, host: nil), before.id != handler.id.rawValue,
                claimants(of: scheme).contains(before.id)
            else { return nil }
            return (scheme, before)
        }
    }

    /// Returns warnings about the hosts whose URLs a handler has taken from other claimants since an earlier registry.
    ///
    /// According to the rules, a claim on certain hosts beats a claim on all hosts, unless the user has chosen a
    /// default.
    package func hosts(takenBy handler: Handler, from earlier: Registry) -> [Diagnostic] {
        var warnings: [Diagnostic] = []
        for (type, claim) in handler.claims.enumerated() {
            for scheme in claim.schemes {
                var lost: [String: [HostPattern]] = [:]
                for pattern in claim.hosts ?? [] {
                    let host = pattern.example
                    guard let before = earlier.winner(for: scheme, host: host)?.id, before != handler.id.rawValue,
                        winner(for: scheme, host: host)?.id == handler.id.rawValue
                    else { continue }
                    lost[before, default: []].append(pattern)
                }
                for (loser, hosts) in lost.sorted(by: { $0.key < $1.key }) {
                    let named = hosts.prefix(3).map { "\(scheme)://\($0)" }.joined(separator: ", ")
                    let rest = hosts.count > 3 ? " and \(hosts.count - 3) more hosts" : ""
                    let remedy = "'openurl default \(scheme) \(loser)' gives them back"
                    warnings.append(
                        Diagnostic(
                            severity: .warning,
                            file: handler.manifestFile,
                            key: "CFBundleURLTypes[\(type)].OUHosts",
                            reason: "takes \(named)\(rest) from \(loser); \(remedy)"
                        )
                    )
                }
            }
        }
        return warnings
    }

    /// Returns the id of the claimant that gets a scheme's URLs without a host. For a handler without a program, this
    /// is the application behind it.
    private func destination(of scheme: Scheme) -> String? {
        let first = claimants(of: scheme).first
        guard let handler = handler(for: scheme, host: nil), handler.id.rawValue == first, handler.program == nil else {
            return first
        }
        return applications.desktopChoice(for: scheme)?.id.rawValue
    }

    /// All schemes for which several handlers claim the same URLs, in byte order.
    public var conflicts: [Conflict] { index.conflicts }
}

extension [Handler] {
    /// The schemes that belong to one of these handlers for all hosts. The handlers must be in the registry's order.
    fileprivate var fixedSchemes: [Scheme: BundleIdentifier] {
        var schemes: [Scheme: BundleIdentifier] = [:]
        var seen: Set<BundleIdentifier> = []
        for handler in prefix(while: \.isFixed) where seen.insert(handler.id).inserted {
            for claim in handler.claims where claim.hosts == nil {
                for scheme in claim.schemes where schemes[scheme] == nil { schemes[scheme] = handler.id }
            }
        }
        return schemes
    }
}

extension Handler {
    /// Removes from the claims the schemes that belong to another handler for all hosts, and those of browsers: a handler
    /// needs a proof for each site.
    ///
    /// - Returns: a warning for each removed scheme.
    fileprivate mutating func withdrawClaims(of owner: (Scheme) -> BundleIdentifier?) -> [Diagnostic] {
        var diagnostics: [Diagnostic] = []
        var rest = claims
        for (type, claim) in claims.enumerated() {
            for (position, scheme) in claim.schemes.enumerated() {
                let owner = owner(scheme)
                guard owner != nil || scheme.isOfBrowsers else { continue }
                rest[type].schemes.removeAll { $0 == scheme }
                diagnostics.append(
                    Diagnostic(
                        severity: .warning,
                        file: manifestFile,
                        key: "CFBundleURLTypes[\(type)].CFBundleURLSchemes[\(position)]",
                        reason: owner.map { "\(scheme) is a fixed scheme and stays with \($0)" }
                            ?? "\(scheme) belongs to the browser; OUAssociatedDomains claims the links to a site"
                    )
                )
            }
        }
        rest.removeAll(where: \.schemes.isEmpty)
        if rest != claims { self = Handler(self, claiming: rest) }
        return diagnostics
    }

    /// Returns the diagnostic about another handler that is not registered because this one has the same id.
    fileprivate func diagnosticOfDuplicate(_ other: Handler) -> [Diagnostic] {
        // This is not a problem, but how a user replaces a handler: the one from an earlier directory replaces those
        // from later directories.
        guard other.precedence <= precedence else { return [] }
        let reason =
            isFixed
            ? "is \(id), a fixed system handler that cannot be replaced"
            : "is \(id), which \(printable(entry)) already declares"
        return [Diagnostic(severity: .error, file: other.manifestFile, key: "CFBundleIdentifier", reason: reason)]
    }
}
