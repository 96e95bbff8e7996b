internal import WebLinks

/// All handlers in their order, and their claims by scheme.
///
/// Adding or removing a handler takes time proportional to the number of its schemes, plus one comparison with every
/// other handler.
struct HandlerIndex: Sendable {
    /// The handlers, each id once, in the registry's order.
    private(set) var handlers: [Handler] = []

    private var slots: [Handler?] = []
    private var freeSlots: [Slot] = []
    private var slotsByID: [BundleIdentifier: Slot] = [:]
    private var ranks: [Int] = []
    private var claims = ClaimTable()
    /// Claims on files. There are a few hundred at most: one for each type of file that handlers know.
    private var fileClaims: [FileKey: [(slot: Slot, rank: HandlerRank)]] = [:]

    /// Claims on links to web pages.
    private var linkClaims: [WebHost: Set<Slot>] = [:]

    /// Replaces the handlers.
    ///
    /// - Parameter others: the new handlers, in the registry's order, each id once.
    /// - Returns: the handlers that were removed or added. A changed handler is in both groups.
    mutating func update(_ others: [Handler]) -> [Handler] {
        let (removed, added) = differences(from: handlers, to: others)
        handlers = others
        for handler in removed {
            guard let slot = slotsByID.removeValue(forKey: handler.id) else { continue }
            for claim in handler.claims {
                for scheme in claim.schemes { claims[scheme] = claims[scheme]?.removing(slot) }
            }
            for claim in handler.fileClaims {
                fileClaims[claim.key]?.removeAll { $0.slot == slot }
                if fileClaims[claim.key]?.isEmpty == true { fileClaims[claim.key] = nil }
            }
            for domain in handler.associatedDomains {
                linkClaims[domain.host]?.remove(slot)
                if linkClaims[domain.host]?.isEmpty == true { linkClaims[domain.host] = nil }
            }
            slots[Int(slot)] = nil
            freeSlots.append(slot)
        }
        for handler in added { addSlot(for: handler) }
        ranks = Array(repeating: 0, count: slots.count)
        for (rank, handler) in handlers.enumerated() {
            if let slot = slotsByID[handler.id] { ranks[Int(slot)] = rank }
        }
        if claims.isEmpty {
            claims.reserveCapacity(added.reduce(0) { $0 + $1.claims.reduce(0) { $0 + $1.schemes.count } })
        }
        for handler in added { addClaims(of: handler) }
        return removed + added
    }

    /// Adds a handler whose id no other handler has.
    mutating func insert(_ handler: Handler) {
        let place = handlers.firstPlace { Handler.precedes(handler, $0) }
        handlers.insert(handler, at: place)
        addSlot(for: handler)
        ranks += Array(repeating: 0, count: slots.count - ranks.count)
        for rank in place..<handlers.count {
            if let slot = slotsByID[handlers[rank].id] { ranks[Int(slot)] = rank }
        }
        addClaims(of: handler)
    }

    private mutating func addSlot(for handler: Handler) {
        let slot = freeSlots.popLast() ?? Slot(slots.count)
        if Int(slot) == slots.count { slots.append(nil) }
        slots[Int(slot)] = handler
        slotsByID[handler.id] = slot
    }

    private mutating func addClaims(of handler: Handler) {
        guard let slot = slotsByID[handler.id] else { return }
        for claim in handler.claims {
            for scheme in claim.schemes { insert(slot, scheme, claim.hosts) }
        }
        for claim in handler.fileClaims { fileClaims[claim.key, default: []].append((slot, claim.rank)) }
        for domain in handler.associatedDomains { linkClaims[domain.host, default: []].insert(slot) }
    }

    private mutating func insert(_ slot: Slot, _ scheme: Scheme, _ hosts: [HostPattern]?) {
        let claim = SchemeClaims(slot, hosts: hosts)
        // Usually nothing else claims the scheme, so this single step is enough.
        guard let others = claims.updateValue(claim, forKey: scheme) else { return }
        claims[scheme] = others.adding(slot, hosts: hosts, ranks: ranks)
    }

    /// The handler with the given id.
    subscript(id: BundleIdentifier) -> Handler? { slotsByID[id].flatMap(handler) }

    /// All schemes that at least one handler claims, in no particular order.
    var schemes: [Scheme] { claims.all.map(\.key) }

    /// Returns the handlers that claim a scheme: first those that accept any host, then those for certain hosts only.
    func handlers(claiming scheme: Scheme) -> [Handler] {
        (claims[scheme]?.slots(ranks) ?? []).compactMap(handler)
    }

    /// Returns the handler that gets a URL.
    func winner(for scheme: Scheme, host: String?) -> Handler? {
        guard let claims = claims[scheme] else { return nil }
        guard claims.dependsOnHost else { return claims.firstOfAnyHost.flatMap { handler($0) } }
        let first = claims.lists(for: host).compactMap { $0.slots.first.flatMap(handler) }
        return first.first(where: \.isFixed) ?? first.first
    }

    /// Returns the claims that apply to a URL. Each handler appears once, with its longest matching host.
    func claims(for scheme: Scheme, host: String?) -> [(handler: Handler, host: HostPattern?)] {
        var seen: Set<Slot> = []
        let claims = (claims[scheme]?.lists(for: host) ?? []).flatMap { list in
            list.slots.filter { seen.insert($0).inserted }.compactMap(handler).map { (handler: $0, host: list.host) }
        }
        return claims.filter(\.handler.isFixed) + claims.filter { !$0.handler.isFixed }
    }

    /// Returns the handlers that claim files with this property: by rank, then in the registry's order.
    func handlers(claiming key: FileKey) -> [(handler: Handler, rank: HandlerRank)] {
        let claims = fileClaims[key, default: []].sorted {
            ($0.rank, ranks[Int($0.slot)]) < ($1.rank, ranks[Int($1.slot)])
        }
        return claims.compactMap { claim in handler(claim.slot).map { ($0, claim.rank) } }
    }

    /// The hosts whose links handlers claim, in no particular order.
    var linkHosts: some Collection<WebHost> { linkClaims.keys }

    /// Returns the handlers that claim links to a host, in the registry's order.
    func handlers(claimingLinksTo host: WebHost) -> [Handler] {
        (linkClaims[host] ?? []).sorted { ranks[Int($0)] < ranks[Int($1)] }.compactMap(handler)
    }

    /// All schemes for which several handlers claim the same URLs, in byte order.
    var conflicts: [Conflict] {
        claims.all.compactMap { scheme, claims in
            let rivals = claims.rivals(ranks).compactMap(handler)
            return rivals.allSatisfy(\.isFixed) ? nil : Conflict(scheme: scheme, handlers: rivals.map(\.id))
        }
        .sorted { $0.scheme < $1.scheme }
    }

    private func handler(_ slot: Slot) -> Handler? { slots[Int(slot)] }
}

/// Returns the differences between two lists of handlers in the registry's order. A handler that has changed is in both
/// results.
func differences(from old: [Handler], to new: [Handler]) -> (removed: [Handler], added: [Handler]) {
    var removed: [Handler] = []
    var added: [Handler] = []
    // Most changes concern one handler, and a new one usually comes last, so most of the list is the same.
    let same = old.indices.first { $0 == new.count || old[$0] != new[$0] } ?? old.count
    var (old, new) = (old[same...], new[same...])
    while let left = old.first, let right = new.first {
        if left == right {
            old.removeFirst()
            new.removeFirst()
        } else if Handler.precedes(right, left) {
            added.append(right)
            new.removeFirst()
        } else {
            removed.append(left)
            old.removeFirst()
        }
    }
    return (removed + old, added + new)
}

extension [Handler] {
    /// Returns the position of the first handler for which a condition holds; the end if there is none. The condition
    /// must also hold for all the handlers that follow it.
    func firstPlace(where isBehind: (Handler) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
