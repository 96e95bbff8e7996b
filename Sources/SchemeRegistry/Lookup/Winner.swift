public import Desktop

extension Registry {
    /// What gets a URL, or `nil` if nothing claims it.
    ///
    /// The handler of a fixed scheme comes first, then what the user chose for the scheme, then the longest of the hosts
    /// that match, then the directory of the higher precedence; there a handler comes before an application. Handlers
    /// among themselves go by the date of their registration and their id, applications by the desktop's own order.
    public func winner(for scheme: Scheme, host: String?) -> Claimant? {
        guard applications.concern(scheme) else { return handler(for: scheme, host: host).map(Claimant.handler) }
        return claims(for: scheme, host: host).first?.claimant
    }

    /// Everything that could have a URL, what gets it first.
    ///
    /// A handler that asks for hosts which do not match is no candidate. One that claims the URL twice is there once, by
    /// its longest host.
    ///
    /// - Parameter id: the one that whoever opens the URL asks for, if any: no other gets it, even if that one does not claim it.
    public func candidates(for scheme: Scheme, host: String?, asking id: String? = nil) -> [Candidate] {
        var claims = claims(for: scheme, host: host)
        if let id {
            guard let position = claims.firstIndex(where: { $0.claimant.id == id }) else {
                return claims.map {
                    Candidate(claimant: $0.claimant, host: $0.host, outcome: .lost(to: id, by: .request))
                }
            }
            var asked = claims.remove(at: position)
            asked.isRequested = true
            claims.insert(asked, at: 0)
        }
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

    /// The ids of all that claims a scheme, whatever the host: what a URL without one goes to first, then the others.
    public func claimants(of scheme: Scheme) -> [String] {
        let claims = claims(for: scheme, host: nil).map(\.claimant.id)
        return claims + handlers(claiming: scheme).map(\.id.rawValue).filter { !claims.contains($0) }
    }

    /// The application behind a handler without a program: the desktop's own choice for the scheme.
    ///
    /// - Throws: ``NoApplication``, if there is none, or it would lead back to the router.
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
        // Each of the two has an order of its own, so the heads decide.
        while let handler = handlers.first, let application = applications.first {
            let handlerIsFirst = handler.host != nil || handler.claimant.precedence <= application.claimant.precedence
            claims.append(handlerIsFirst ? handlers.removeFirst() : applications.removeFirst())
        }
        return claims + handlers + applications
    }

    /// The first of the desktop's defaults that may have the URL.
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

/// Why a scheme of the system's has no application.
public enum NoApplication: Error, Hashable, CustomStringConvertible {
    /// Nothing that is installed opens it.
    case none(Scheme)
    /// The desktop's default is openurl itself.
    case own(Scheme, DesktopFileID)

    /// What is wrong and what to do.
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
    /// The pattern by which a handler claims it; `nil` for any host.
    let host: HostPattern?
    var isUserDefault = false
    /// Whether it is the one that is asked for.
    var isRequested = false

    /// The rule that put the first of two claims before the second.
    static func decidingRule(_ first: Claim, _ second: Claim) -> WinningRule {
        if first.isRequested != second.isRequested { return .request }
        if first.claimant.isFixed != second.claimant.isFixed { return .fixedScheme }
        if first.isUserDefault != second.isUserDefault { return .userDefault }
        if case .application = first.claimant, case .application = second.claimant { return .association }
        if first.host != second.host { return .host }
        guard case .handler(let left) = first.claimant, case .handler(let right) = second.claimant else {
            if first.claimant.precedence < second.claimant.precedence { return .directory }
            // An application of an earlier directory is behind the handler only where the desktop has it behind another one.
            return first.claimant.precedence == second.claimant.precedence ? .kind : .association
        }
        // Handlers of one registry differ in their ids at least.
        return Handler.decidingRule(left, right) ?? .identifier
    }
}
