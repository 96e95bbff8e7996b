public import Desktop

extension Registry {
    /// Returns the claimant that gets a URL; `nil` if nothing claims it.
    ///
    /// The rules apply in this order:
    ///
    /// 1. a fixed scheme's handler;
    /// 2. the program that has claimed the scheme for as long as it runs;
    /// 3. the desktop's first default that claims the URL;
    /// 4. the desktop's own order, in which each handler's published entry has a place.
    ///
    /// The desktop does not know about the handlers' hosts. So the handlers share out their places among themselves: by
    /// the longest matching host, then by the associations that a file adds, their directories' precedence, the date of
    /// their registration, and their ids. A handler without its own entry comes last.
    public func winner(for scheme: Scheme, host: String?) -> Claimant? {
        if let handler = runningClaimant(of: scheme) { return .handler(handler) }
        guard applications.concern(scheme) else { return handler(for: scheme, host: host).map(Claimant.handler) }
        return claims(for: scheme, host: host).first?.claimant
    }

    /// Returns every candidate for a URL, the winner first.
    ///
    /// A handler whose hosts do not match is not a candidate. A handler that claims the URL twice appears once, with
    /// its longest matching host.
    ///
    /// - Parameters:
    ///   - scheme: the URL's scheme.
    ///   - host: the host as written in the URL; `nil` if the URL has no host.
    ///   - id: the claimant that the sender asks for, if any. In that case, no other claimant gets the URL, even if
    ///     this one does not claim it.
    public func candidates(for scheme: Scheme, host: String?, asking id: String? = nil) -> [Candidate] {
        candidates(of: claims(for: scheme, host: host), asking: id)
    }

    /// Returns the candidates for a scheme from the user's point of view: if the winner leaves its URLs to the desktop,
    /// the desktop's choice is the winner, and the handlers without a program are left out.
    public func resolved(_ candidates: [Candidate], for scheme: Scheme) -> [Candidate] {
        guard let first = candidates.first, first.outcome.wins, let system = first.claimant.handler,
            system.program == nil
        else { return candidates }
        let choice = applications.desktopChoice(for: scheme)?.id.rawValue
        let rule: WinningRule =
            applications.isDefault(choice, for: scheme) ? .userDefault : .association
        let others = candidates.map(\.claimant).filter { $0.handler.map { $0.program != nil } ?? true }
        let resolved = others.map { claimant in
            let outcome: Candidate.Outcome =
                claimant.id == choice ? .passed(by: system.id.rawValue) : .lost(to: choice ?? "", by: rule)
            return Candidate(claimant: claimant, host: nil, outcome: outcome)
        }
        // Without a winner, nothing is a candidate.
        return resolved.contains(where: \.outcome.wins)
            ? resolved.filter(\.outcome.wins) + resolved.filter { !$0.outcome.wins } : []
    }

    /// Returns the candidates for the given claims, which must be in order.
    func candidates(of claims: [Claim], asking id: String?) -> [Candidate] {
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

    /// Moves the claimant that the sender asks for to the front.
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

    /// Returns the ids of everything that claims a scheme, no matter for which host. The winner for a URL without a
    /// host comes first.
    public func claimants(of scheme: Scheme) -> [String] {
        let claims = claims(for: scheme, host: nil).map(\.claimant.id)
        return claims + handlers(claiming: scheme).map(\.id.rawValue).filter { !claims.contains($0) }
    }

    /// Returns the application behind a handler without a program, which is the desktop's own choice for the scheme.
    ///
    /// If this choice leads back to the router, as it does when the user has chosen openurl for all links, the next one
    /// counts: the browser that was the default before, because it comes second in the user's list, or else the first one
    /// that claims the scheme.
    ///
    /// - Throws: ``NoApplication`` if there is no application, or only one that leads back to the router.
    public func application(for scheme: Scheme) throws(NoApplication) -> DesktopEntry {
        if let entry = applications.desktopChoice(for: scheme) { return entry }
        if let own = applications.ownChoice(for: scheme) { throw .own(scheme, own.id) }
        throw .none(scheme)
    }

    /// Returns the claims on a URL, the winner's first.
    func claims(for scheme: Scheme, host: String?) -> [Claim] {
        var handlers = handlerClaims(for: scheme, host: host).map { Claim(claimant: .handler($0), host: $1) }[...]
        var claims: [Claim] = []
        while let handler = handlers.first, handler.claimant.isFixed {
            claims.append(handler)
            handlers.removeFirst()
        }
        if let running = runningClaimant(of: scheme) {
            handlers.removeAll { $0.claimant.id == running.id.rawValue }
            var claim = Claim(claimant: .handler(running), host: nil)
            claim.isWhileRunning = true
            claims.append(claim)
        }
        guard applications.concern(scheme) else { return claims + handlers }
        return claims + inOrder(handlers, for: scheme.mimeType)
    }

    /// Returns the claims of handlers and applications in the desktop's order.
    ///
    /// - Parameters:
    ///   - handlers: the handlers' claims, in the handlers' own order.
    ///   - mimeType: the claimed type, or the type that stands for the claimed scheme.
    func inOrder(_ handlers: ArraySlice<Claim>, for mimeType: String) -> [Claim] {
        var handlers = handlers
        var claims: [Claim] = []
        var places = applications.places(for: mimeType, with: handlers.compactMap(\.claimant.handler))[...]
        if let place = places.first, place.reason == .default {
            places.removeFirst()
            var chosen = handlers.first { $0.claimant == place.claimant } ?? Claim(claimant: place.claimant, host: nil)
            handlers.removeAll { $0.claimant == place.claimant }
            chosen.isUserDefault = true
            claims.append(chosen)
        }
        // Hosts, ranks and registrations mean nothing to the desktop, so the registry decides which handler gets which
        // of the places that the desktop gives to handlers.
        var positions: [String: Int] = [:]
        for (position, place) in places.enumerated() where place.claimant.handler != nil {
            positions[place.claimant.id] = place.reason == .claim ? .max : position
        }
        for index in handlers.indices { handlers[index].position = positions[handlers[index].claimant.id] }
        var ranked = handlers.enumerated().filter { $0.element.position != nil }.sorted { left, right in
            guard left.element.host == right.element.host, left.element.rank == right.element.rank,
                let first = left.element.position, let second = right.element.position
            else { return left.offset < right.offset }
            return (first, left.offset) < (second, right.offset)
        }.map(\.element)[...]
        for place in places {
            switch place.claimant {
            case .handler: if let handler = ranked.popFirst() { claims.append(handler) }
            case .application: claims.append(Claim(claimant: place.claimant, host: nil))
            }
        }
        return claims + handlers.filter { $0.position == nil }
    }
}

/// Why the system has no application for a scheme.
public enum NoApplication: Error, Hashable, CustomStringConvertible {
    /// No installed application opens the scheme.
    case none(Scheme)
    /// The desktop's default is openurl itself.
    case own(Scheme, DesktopFileID)

    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .none(let scheme):
            "\(scheme): belongs to the system, and the desktop has no application for it; install one, or choose an "
                + "installed one with 'openurl default \(scheme) NAME.desktop'"
        case .own(let scheme, let id):
            "\(scheme): belongs to the system, and its only application (\(id)) leads back to openurl; choose another "
                + "one with 'openurl default \(scheme) NAME.desktop'"
        }
    }
}
