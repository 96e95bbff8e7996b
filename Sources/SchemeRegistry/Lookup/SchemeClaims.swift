/// The place of a handler in a ``HandlerIndex``; it stays the same while other handlers come and go.
typealias Slot = Int32

/// The claims on one scheme: handlers by their slots, each list in the registry's order.
///
/// Nearly every scheme has one handler that takes any host, which needs no memory beyond the index's own.
enum SchemeClaims: Sendable {
    case one(Slot)
    indirect case several(anyHost: [Slot], byHost: [HostPattern: [Slot]])

    /// One handler's claim.
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

    /// These claims and another one; the same one twice counts once.
    ///
    /// - Parameter ranks: the place in the registry's order of each slot.
    func adding(_ slot: Slot, hosts: [HostPattern]?, ranks: [Int]) -> SchemeClaims {
        var (anyHost, byHost) = (anyHost, byHost)
        if let hosts {
            for host in hosts { byHost[host, default: []].insert(slot, ranks) }
        } else {
            anyHost.insert(slot, ranks)
        }
        return SchemeClaims(anyHost, byHost)
    }

    /// These claims without those of a handler; nil if none are left.
    func removing(_ slot: Slot) -> SchemeClaims? {
        let anyHost = anyHost.filter { $0 != slot }
        let byHost = byHost.compactMapValues { slots in
            let rest = slots.filter { $0 != slot }
            return rest.isEmpty ? nil : rest
        }
        return anyHost.isEmpty && byHost.isEmpty ? nil : SchemeClaims(anyHost, byHost)
    }

    /// Whether a URL's host has a say in who gets it.
    var dependsOnHost: Bool {
        switch self {
        case .one: false
        case .several(_, let byHost): !byHost.isEmpty
        }
    }

    /// The first of the handlers that take any host.
    var firstOfAnyHost: Slot? {
        switch self {
        case .one(let slot): slot
        case .several(let anyHost, _): anyHost.first
        }
    }

    /// The lists that apply to a URL's host, that of the longest pattern first and that of any host last.
    func lists(for host: String?) -> [(host: HostPattern?, slots: [Slot])] {
        guard let host, dependsOnHost else { return [(nil, anyHost)] }
        let byHost = byHost
        let matching = HostPattern.matching(host).compactMap { pattern in byHost[pattern].map { (pattern, $0) } }
        return matching + [(nil, anyHost)]
    }

    /// All handlers with a claim, each once: those of any host, then the others.
    func slots(_ ranks: [Int]) -> [Slot] {
        guard dependsOnHost else { return anyHost }
        return anyHost + Set(byHost.values.joined()).subtracting(anyHost).inOrder(ranks)
    }

    /// The handlers that some URL could go to as well as to another one.
    func rivals(_ ranks: [Int]) -> [Slot] {
        // A handler of any host shares every URL with every other handler.
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
