/// A handler's position in a ``HandlerIndex``, which stays the same when others are added or removed.
typealias Slot = Int32

/// All claims on one scheme, as lists of handlers in the registry's order.
///
/// Nearly every scheme has one handler that accepts any host. For such a scheme, the case `one` needs no memory beyond
/// the index's own.
enum SchemeClaims: Sendable {
    case one(Slot)
    indirect case several(anyHost: [Slot], byHost: [HostPattern: [Slot]])

    /// Creates one handler's claim.
    init(_ slot: Slot, hosts: [HostPattern]?) {
        guard let hosts else {
            self = .one(slot)
            return
        }
        self = .several(anyHost: [], byHost: Dictionary(hosts.map { ($0, [slot]) }) { first, _ in first })
    }

    private var anyHost: [Slot] {
        switch self {
        case .one(let slot): [slot]
        case .several(let anyHost, _): anyHost
        }
    }

    private var byHost: [HostPattern: [Slot]] {
        switch self {
        case .one: [:]
        case .several(_, let byHost): byHost
        }
    }

    private init(_ anyHost: [Slot], _ byHost: [HostPattern: [Slot]]) {
        self = byHost.isEmpty && anyHost.count == 1 ? .one(anyHost[0]) : .several(anyHost: anyHost, byHost: byHost)
    }

    /// Returns these claims and one more. Adding a claim twice has no further effect.
    ///
    /// - Parameter ranks: the position of each slot's handler in the registry's order.
    func adding(_ slot: Slot, hosts: [HostPattern]?, ranks: [Int]) -> SchemeClaims {
        var (anyHost, byHost) = (anyHost, byHost)
        if let hosts {
            for host in hosts { byHost[host, default: []].insert(slot, ranks) }
        } else {
            anyHost.insert(slot, ranks)
        }
        return SchemeClaims(anyHost, byHost)
    }

    /// Returns these claims without a handler's; nil if there are none left.
    func removing(_ slot: Slot) -> SchemeClaims? {
        let anyHost = anyHost.filter { $0 != slot }
        let byHost = byHost.compactMapValues { slots in
            let rest = slots.filter { $0 != slot }
            return rest.isEmpty ? nil : rest
        }
        return anyHost.isEmpty && byHost.isEmpty ? nil : SchemeClaims(anyHost, byHost)
    }

    /// Whether the winner depends on the URL's host.
    var dependsOnHost: Bool {
        switch self {
        case .one: false
        case .several(_, let byHost): !byHost.isEmpty
        }
    }

    /// The first handler that accepts any host.
    var firstOfAnyHost: Slot? {
        switch self {
        case .one(let slot): slot
        case .several(let anyHost, _): anyHost.first
        }
    }

    /// Returns the lists that apply to a URL's host, from the longest pattern to the list for any host.
    func lists(for host: String?) -> [(host: HostPattern?, slots: [Slot])] {
        guard let host, dependsOnHost else { return [(nil, anyHost)] }
        let byHost = byHost
        let matching = HostPattern.matching(host).compactMap { pattern in byHost[pattern].map { (pattern, $0) } }
        return matching + [(nil, anyHost)]
    }

    /// Returns all handlers with a claim, each once, first those that accept any host.
    func slots(_ ranks: [Int]) -> [Slot] {
        guard dependsOnHost else { return anyHost }
        return anyHost + Set(byHost.values.joined()).subtracting(anyHost).inOrder(ranks)
    }

    /// Returns the handlers that share at least one URL with another handler.
    func rivals(_ ranks: [Int]) -> [Slot] {
        // A handler that accepts any host shares URLs with every other handler.
        if !anyHost.isEmpty {
            let slots = slots(ranks)
            return slots.count > 1 ? slots : []
        }
        let byHost = byHost
        var rivals: Set<Slot> = []
        for (host, slots) in byHost {
            let sharing = Set(slots).union(host.wider.compactMap { byHost[$0] }.joined())
            if sharing.count > 1 { rivals.formUnion(sharing) }
        }
        return rivals.inOrder(ranks)
    }
}

extension [Slot] {
    fileprivate mutating func insert(_ slot: Slot, _ ranks: [Int]) {
        let place = firstIndex { ranks[Int($0)] >= ranks[Int(slot)] } ?? endIndex
        if place == endIndex || self[place] != slot { insert(slot, at: place) }
    }
}

extension Set<Slot> {
    fileprivate func inOrder(_ ranks: [Int]) -> [Slot] {
        sorted { ranks[Int($0)] < ranks[Int($1)] }
    }
}
