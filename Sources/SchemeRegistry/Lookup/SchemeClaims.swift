/// The claims on one scheme: positions of handlers in the registry, each list in the registry's order.
struct SchemeClaims: Sendable {
    private var anyHost: [Int] = []
    private var byHost: [HostPattern: [Int]] = [:]

    /// Adds the claim of a handler that comes after all that were added before.
    mutating func add(_ position: Int, hosts: [HostPattern]?) {
        guard let hosts else {
            if anyHost.last != position { anyHost.append(position) }
            return
        }
        for host in hosts where byHost[host]?.last != position { byHost[host, default: []].append(position) }
    }

    /// Whether a URL's host has a say in who gets it.
    var dependsOnHost: Bool { !byHost.isEmpty }

    /// The lists that apply to a URL's host, that of the longest pattern first and that of any host last.
    func lists(for host: String?) -> [(host: HostPattern?, positions: [Int])] {
        guard let host, dependsOnHost else { return [(nil, anyHost)] }
        let matching = HostPattern.matching(host).compactMap { pattern in byHost[pattern].map { (pattern, $0) } }
        return matching + [(nil, anyHost)]
    }

    /// All handlers with a claim, each once: those of any host, then the others.
    var positions: [Int] {
        guard dependsOnHost else { return anyHost }
        let hosts = Set(byHost.values.joined()).subtracting(anyHost)
        return anyHost + hosts.sorted()
    }

    /// The handlers that some URL could go to as well as to another one.
    var rivals: [Int] {
        // A handler of any host shares every URL with every other handler.
        if !anyHost.isEmpty { return positions.count > 1 ? positions : [] }
        var rivals: Set<Int> = []
        for (host, positions) in byHost {
            let sharing = Set(positions).union(host.wider.compactMap { byHost[$0] }.joined())
            if sharing.count > 1 { rivals.formUnion(sharing) }
        }
        return rivals.sorted()
    }

    /// The fixed handler of all of the scheme's URLs.
    func fixedHandler(in handlers: [Handler]) -> Handler? {
        anyHost.first.map { handlers[$0] }.flatMap { $0.isFixed ? $0 : nil }
    }
}
