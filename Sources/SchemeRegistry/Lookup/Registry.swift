internal import Desktop
public import UserFiles

/// The claims of all handlers, and the rules that choose a handler or an application for a URL.
///
/// A registry is a value. A router keeps the current registry, and replaces it when a newer one has been loaded
/// elsewhere.
public struct Registry: Sendable {
    /// The problems of the files in the order of loading, followed by the problems between handlers.
    public private(set) var diagnostics: [Diagnostic] = []
    /// The files of manifests with errors, by the schemes that they claim, or have claimed before they had errors.
    public internal(set) var brokenManifests: [Scheme: String] = [:]
    /// The desktop's applications.
    public var applications: DesktopApplications

    private var index = HandlerIndex()
    /// The schemes that belong to one handler for all hosts.
    private var fixed: [Scheme: BundleIdentifier] = [:]
    /// The handlers that run now, and have claimed schemes for that time.
    private var claimed: [Scheme: BundleIdentifier] = [:]

    /// The handlers: those of fixed schemes first, then by directory, date of registration and id.
    public var handlers: [Handler] { index.handlers }

    /// Creates a registry of handlers.
    ///
    /// If several handlers have the same id, the fixed handler counts, otherwise the handler of the first directory.
    /// The resulting problems are added to `diagnostics`.
    public init(
        handlers loaded: [Handler],
        applications: DesktopApplications = DesktopApplications(),
        diagnostics: [Diagnostic] = []
    ) {
        self.applications = applications
        _ = update(handlers: loaded, diagnostics: diagnostics)
    }

    /// Replaces the handlers; the cost grows with the number of handlers that changed.
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
        // The previous handlers that the loop has not reached yet, and the ids of the previous handlers that no longer
        // exist.
        var known = index.handlers[...]
        var gone: Set<BundleIdentifier> = []
        for var handler in sorted {
            while let first = known.first, Handler.precedes(first, handler) { gone.insert(known.removeFirst().id) }
            // An unchanged handler with all its claims needs no check against the fixed schemes unless the fixed
            // schemes changed.
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

    /// Adds a handler, if no other handler and no fixed scheme has anything to do with it. The cost grows with the number of its
    /// schemes, and of the handlers behind it.
    ///
    /// - Returns: whether the handler was added; otherwise ``update(handlers:diagnostics:)`` adds it.
    mutating func insert(_ handler: Handler) -> Bool {
        guard !handler.isFixed, index[handler.id] == nil, !handler.schemes.contains(where: { fixed[$0] != nil }) else {
            return false
        }
        index.insert(handler)
        return true
    }

    /// Returns this registry with the handlers that a router has in memory.
    ///
    /// A handler takes the place of the one with the same id that a file declares. A scheme that belongs to a fixed handler stays
    /// with it.
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

    /// Returns the handler that runs now, and has claimed a scheme for that time.
    public func runningClaimant(of scheme: Scheme) -> Handler? {
        // Nearly always there is none.
        claimed.isEmpty ? nil : claimed[scheme].flatMap { index[$0] }
    }

    /// Returns the handler with the given id; `nil` if the text is not an id.
    public func handler(named text: String) -> Handler? {
        do throws(BundleIdentifier.ParseError) {
            return index[try BundleIdentifier(text)]
        } catch {
            return nil
        }
    }

    /// The handler with the given id.
    public subscript(id: BundleIdentifier) -> Handler? { index[id] }

    /// The schemes that a handler or an application claims, in byte order.
    public var schemes: [Scheme] { Set(index.schemes).union(applications.schemes).sorted() }

    /// Returns the claims of the registry's handlers that apply to a URL, in the handlers' order.
    func handlerClaims(for scheme: Scheme, host: String?) -> [(handler: Handler, host: HostPattern?)] {
        index.claims(for: scheme, host: host)
    }

    /// Returns the claims of handlers on files with a property: by rank, then in the handlers' order.
    func handlerClaims(on key: FileKey) -> [(handler: Handler, rank: HandlerRank)] { index.handlers(claiming: key) }

    /// Returns the handlers that claim a scheme.
    ///
    /// The handlers of any host come first, beginning with the winner for a URL without a host. The handlers of certain
    /// hosts only come after them.
    public func handlers(claiming scheme: Scheme) -> [Handler] {
        index.handlers(claiming: scheme)
    }

    /// Returns the handler of the registry that gets a URL. ``winner(for:host:)`` also considers the desktop's
    /// applications.
    ///
    /// The lookup takes one access to a hash table. If a handler of the scheme restricts its hosts, the lookup takes
    /// one more access for each label of the host.
    ///
    /// - Parameters:
    ///   - scheme: the URL's scheme.
    ///   - host: the host as written in the URL; `nil` if the URL has no host.
    public func handler(for scheme: Scheme, host: String?) -> Handler? {
        index.winner(for: scheme, host: host)
    }

    /// Returns the schemes among `some` whose URLs without a host go to another claimant than in the other registry, in
    /// byte order.
    public func schemes(_ some: Set<Scheme>, withWinnersOtherThanIn other: Registry) -> [Scheme] {
        some.filter { destination(of: $0) != other.destination(of: $0) }.sorted()
    }

    /// Returns the schemes that a handler has taken away from another claimant since an earlier registry, with that
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

    /// Returns warnings about the hosts whose URLs a handler has taken away from other claimants since an earlier registry.
    ///
    /// A claim on certain hosts comes before a claim on all hosts, as the rules say, unless the user has chosen a default.
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

    /// Returns the claimant of a scheme's URLs without a host. For a handler without a program, the result is the
    /// application behind the handler.
    private func destination(of scheme: Scheme) -> String? {
        let first = claimants(of: scheme).first
        guard let handler = handler(for: scheme, host: nil), handler.id.rawValue == first, handler.program == nil else {
            return first
        }
        return applications.desktopChoice(for: scheme)?.id.rawValue
    }

    /// The schemes for which several handlers claim the same URLs, in byte order.
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
    /// Removes the schemes from the claims that belong to another handler for all hosts.
    ///
    /// - Returns: a warning for each removed scheme.
    fileprivate mutating func withdrawClaims(of owner: (Scheme) -> BundleIdentifier?) -> [Diagnostic] {
        var diagnostics: [Diagnostic] = []
        var rest = claims
        for (type, claim) in claims.enumerated() {
            for (position, scheme) in claim.schemes.enumerated() {
                guard let owner = owner(scheme) else { continue }
                rest[type].schemes.removeAll { $0 == scheme }
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
        rest.removeAll(where: \.schemes.isEmpty)
        if rest != claims { self = Handler(self, claiming: rest) }
        return diagnostics
    }

    /// Returns the diagnostic for another handler with the same id, which is not registered because of this handler.
    fileprivate func diagnosticOfDuplicate(_ other: Handler) -> [Diagnostic] {
        // A handler of an earlier directory replaces the handlers of later directories: this is how a user replaces a
        // handler.
        guard other.precedence <= precedence else { return [] }
        let reason =
            isFixed
            ? "is \(id), a fixed system handler that cannot be replaced"
            : "is \(id), which \(printable(entry)) declares already"
        return [Diagnostic(severity: .error, file: other.manifestFile, key: "CFBundleIdentifier", reason: reason)]
    }
}
