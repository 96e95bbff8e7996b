public import Desktop

extension Registry {
    /// Returns the claimant that gets a URL, or `nil` if nothing claims the URL.
    ///
    /// The rules apply in this order: the handler of a fixed scheme, the user's default for the scheme, the longest
    /// matching host, and the directory with the higher precedence. Within directories of the same precedence, a
    /// handler comes before an application. Handlers are then ordered by the date of their registration and by id, and
    /// applications by the desktop's own order.
    public func winner(for scheme: Scheme, host: String?) -> Claimant? {
        guard applications.concern(scheme) else { return handler(for: scheme, host: host).map(Claimant.handler) }
        return claims(for: scheme, host: host).first?.claimant
    }

    /// Returns every candidate for a URL; the winner comes first.
    ///
    /// A handler whose hosts do not match is not a candidate. A handler that claims the URL twice is listed once, with
    /// its longest matching host.
    ///
    /// - Parameters:
    ///   - scheme: the URL's scheme.
    ///   - host: the host as written in the URL; `nil` if the URL has no host.
    ///   - id: the claimant that the sender asks for, if any. No other claimant then gets the URL, even if this
    ///     claimant does not claim the URL.
    public func candidates(for scheme: Scheme, host: String?, asking id: String? = nil) -> [Candidate] {
        let claims = claims(for: scheme, host: host)
        if let id { return candidates(claims, asking: id) }
        guard let winner = claims.first else { return [] }
        return claims.indices.map { position in
            let outcome: Candidate.Outcome =
                if position > 0 {
                    .lost(to: winner.claimant.id, by: Claim.decidingRule(winner, claims[position]))
                } else if claims.count > 1 {
                    .won(by: Claim.decidingRule(winner, claims[1]))
                } else {
                    .unopposed
                }
            return Candidate(claimant: claims[position].claimant, host: claims[position].host, outcome: outcome)
        }
    }

    /// Returns the claims with the claimant first that the sender asks for.
    private func candidates(_ claims: [Claim], asking id: String) -> [Candidate] {
        let usual = claims.first?.claimant.id
        let candidates = claims.map { claim in
            let isUsual = claim.claimant.id == usual
            return Candidate(
                claimant: claim.claimant,
                host: claim.host,
                outcome: claim.claimant.id == id
                    ? .requested(insteadOf: isUsual ? nil : usual) : .notRequested(by: id, isUsualWinner: isUsual)
            )
        }
        return candidates.filter(\.outcome.wins) + candidates.filter { !$0.outcome.wins }
    }

    /// Returns the ids of all claimants of a scheme, whatever the host. The winner for a URL without a host comes
    /// first.
    public func claimants(of scheme: Scheme) -> [String] {
        let claims = claims(for: scheme, host: nil).map(\.claimant.id)
        return claims + handlers(claiming: scheme).map(\.id.rawValue).filter { !claims.contains($0) }
    }

    /// Returns the application behind a handler without a program, which is the desktop's own choice for the scheme.
    ///
    /// - Throws: ``NoApplication`` if there is no application, or if the application would lead back to the router.
    public func application(for scheme: Scheme) throws(NoApplication) -> DesktopEntry {
        guard let entry = applications.desktopChoice(for: scheme) else { throw .none(scheme) }
        guard !entry.isOwn else { throw .own(scheme, entry.id) }
        return entry
    }

    private func claims(for scheme: Scheme, host: String?) -> [Claim] {
        var handlers = handlerClaims(for: scheme, host: host)[...].map { Claim(claimant: .handler($0), host: $1) }[...]
        var applications = applications.claiming(scheme)[...].map { Claim(claimant: .application($0), host: nil) }[...]
        var claims: [Claim] = []
        while let handler = handlers.first, handler.claimant.isFixed {
            claims.append(handler)
            handlers.removeFirst()
        }
        if var chosen = userDefault(for: scheme, among: handlers + applications) {
            handlers.removeAll { $0.claimant == chosen.claimant }
            applications.removeAll { $0.claimant == chosen.claimant }
            chosen.isUserDefault = true
            claims.append(chosen)
        }
        // Each of the two lists has its own order, so only the first elements are compared.
        while let handler = handlers.first, let application = applications.first {
            let handlerIsFirst = handler.host != nil || handler.claimant.precedence <= application.claimant.precedence
            claims.append(handlerIsFirst ? handlers.removeFirst() : applications.removeFirst())
        }
        return claims + handlers + applications
    }

    /// Returns the first of the desktop's defaults that claims the URL.
    private func userDefault(for scheme: Scheme, among claims: ArraySlice<Claim>) -> Claim? {
        for choice in applications.defaults(for: scheme) {
            let chosen = claims.first { claim in
                switch (claim.claimant, choice) {
                case (.handler(let handler), .handler(let id)): handler.id.rawValue == id
                case (.application(let entry), .application(let id)): entry.id == id
                default: false
                }
            }
            if let chosen { return chosen }
        }
        return nil
    }
}

/// The reason why a scheme of the system has no application.
public enum NoApplication: Error, Hashable, CustomStringConvertible {
    /// No installed application opens the scheme.
    case none(Scheme)
    /// The desktop's default is openurl itself.
    case own(Scheme, DesktopFileID)

    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .none(let scheme):
            "\(scheme): belongs to the system, and the desktop has no application for it; install one, or choose one "
                + "with 'openurl default \(scheme) ID'"
        case .own(let scheme, let id):
            "\(scheme): belongs to the system, and its default application (\(id)) leads back to openurl; choose another "
                + "one with 'openurl default \(scheme) ID'"
        }
    }
}

/// One claim on a URL.
private struct Claim {
    let claimant: Claimant
    /// The pattern by which a handler claims the URL; `nil` for any host.
    let host: HostPattern?
    var isUserDefault = false

    /// Returns the rule that put the first claim before the second.
    static func decidingRule(_ first: Claim, _ second: Claim) -> WinningRule {
        if first.claimant.isFixed != second.claimant.isFixed { return .fixedScheme }
        if first.isUserDefault != second.isUserDefault { return .userDefault }
        if case .application = first.claimant, case .application = second.claimant { return .association }
        if first.host != second.host { return .host }
        guard case .handler(let left) = first.claimant, case .handler(let right) = second.claimant else {
            if first.claimant.precedence < second.claimant.precedence { return .directory }
            // An application of an earlier directory comes after a handler only if the desktop puts another application
            // before it.
            return first.claimant.precedence == second.claimant.precedence ? .kind : .association
        }
        // Handlers of one registry differ in their ids at least.
        return Handler.decidingRule(left, right) ?? .identifier
    }
}
