public import Desktop

/// Which handler claims which scheme, and why this one wins: all that one look at the directories found.
///
/// A value that never changes. A router keeps one, and replaces it when a new one has been loaded elsewhere.
public struct Registry: Sendable {
    /// What is wrong with the rest, file by file in the order of loading, then what only all of them together show.
    public private(set) var diagnostics: [Diagnostic] = []
    /// What the desktop has besides.
    public var applications: Applications

    private var index = HandlerIndex()
    /// The schemes that belong to one handler whatever the host.
    private var fixed: [Scheme: BundleIdentifier] = [:]

    /// The handlers, those of fixed schemes first, then by directory, date of registration and id.
    public var handlers: [Handler] { index.handlers }

    /// A registry of handlers that were loaded, or made by a test.
    ///
    /// Of several with one id the first counts: a fixed one, else the one of the first directory. What is wrong with that
    /// is added to the diagnostics of before.
    public init(
        handlers loaded: [Handler],
        applications: Applications = Applications(),
        diagnostics: [Diagnostic] = []
    ) {
        self.applications = applications
        _ = update(handlers: loaded, diagnostics: diagnostics)
    }

    /// Takes other handlers, for the price of those that are other than before.
    ///
    /// - Returns: the handlers that came or went; one that changed did both.
    mutating func update(handlers loaded: [Handler], diagnostics: [Diagnostic]) -> [Handler] {
        self.diagnostics = diagnostics
        let sorted = loaded.sorted(by: Handler.precedes)
        let fixedBefore = fixed
        fixed = sorted.fixedSchemes
        let keepsFixed = fixed == fixedBefore

        var handlers: [Handler] = []
        handlers.reserveCapacity(sorted.count)
        var newcomers: [BundleIdentifier: Handler] = [:]
        // Those of before that are yet to be come by, and those that were come by and are there no more.
        var known = index.handlers[...]
        var gone: Set<BundleIdentifier> = []
        for var handler in sorted {
            while let first = known.first, Handler.precedes(first, handler) { gone.insert(known.removeFirst().id) }
            // A handler that kept all of its claims before keeps them among the same fixed schemes.
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

    /// The handler with an id, if the text is one.
    public func handler(named text: String) -> Handler? {
        do throws(BundleIdentifier.ParseError) {
            return index[try BundleIdentifier(text)]
        } catch {
            return nil
        }
    }

    /// The handler with an id.
    public subscript(id: BundleIdentifier) -> Handler? { index[id] }

    /// The schemes that a handler or an application claims, in byte order.
    public var schemes: [Scheme] { Set(index.schemes).union(applications.schemes).sorted() }

    /// The claims of the registry's handlers that apply to a URL, in their order.
    func handlerClaims(for scheme: Scheme, host: String?) -> [(handler: Handler, host: HostPattern?)] {
        index.claims(for: scheme, host: host)
    }

    /// The handlers that claim a scheme: first those of any host, the winner for a URL without a host leading, then those
    /// of certain hosts only.
    public func handlers(claiming scheme: Scheme) -> [Handler] {
        index.handlers(claiming: scheme)
    }

    /// The handler that gets a URL among those of the registry; ``winner(for:host:)`` asks the desktop's applications too.
    ///
    /// One look into a hash table, and one for each label of the host where a handler asks for certain hosts. The host is
    /// as it is written in the URL, and `nil` if that has none.
    public func handler(for scheme: Scheme, host: String?) -> Handler? {
        index.winner(for: scheme, host: host)
    }

    /// Those of some schemes whose URLs, if they have no host, go elsewhere than in another registry; in byte order.
    public func schemes(_ some: Set<Scheme>, withWinnersOtherThanIn other: Registry) -> [Scheme] {
        some.filter { destination(of: $0) != other.destination(of: $0) }.sorted()
    }

    /// What gets the URLs of a scheme that have no host: for a handler without a program, the application behind it.
    private func destination(of scheme: Scheme) -> String? {
        let first = claimants(of: scheme).first
        guard let handler = handler(for: scheme, host: nil), handler.id.rawValue == first, handler.program == nil else {
            return first
        }
        return applications.desktopChoice(for: scheme)?.id.rawValue
    }

    /// The schemes that more than one handler claims for the same URLs, in byte order.
    public var conflicts: [Conflict] { index.conflicts }
}

extension [Handler] {
    /// The schemes that belong to one of these handlers whatever the host, if they are in the registry's order.
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
    /// Takes schemes off the claims that belong to another handler whatever the host, with a warning for each.
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
