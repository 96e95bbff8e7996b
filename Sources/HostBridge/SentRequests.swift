internal import DBus
internal import DequeModule
internal import OpenURLBus

/// The requests that the bridge has published, by their names, with the outcomes that wait for the router.
///
/// It belongs to the bridge's actor.
struct SentRequests {
    private var requests: [String: SentRequest] = [:]
    /// The names in the order in which they came. A name stays here when its request is forgotten.
    private var order: Deque<String> = []
    /// Number of requests to each host.
    private var counts: [HostName: Int] = [:]
    /// The bytes of the outcomes that are kept, by the hosts that sent them.
    private var kept: Shares<HostName>
    private let limit: Int

    /// - Parameters:
    ///   - limit: the number of requests. If one is forgotten, it may be published again.
    ///   - keptBytes: the bytes of all outcomes for which no call was waiting. A host gets at most half of what the others leave.
    init(limit: Int = 16_384, keptBytes: Int = 64 << 20) {
        self.limit = limit
        kept = Shares(limit: keptBytes)
    }

    subscript(name: String) -> SentRequest? { requests[name] }
    var all: some Collection<SentRequest> { requests.values }
    /// The bytes of all outcomes that are kept.
    var keptBytes: Int { kept.total }

    func hasRequests(to host: HostName) -> Bool { counts[host] != nil }

    /// Remembers a request, and forgets old ones that no call waits for if there are too many.
    mutating func remember(_ request: SentRequest, _ name: String) {
        guard requests[name] == nil else { return }
        requests[name] = request
        counts[request.host, default: 0] += 1
        order.append(name)
        while requests.count > limit || order.count > 2 * limit, let oldest = order.popFirst() {
            guard let request = requests[oldest] else { continue }
            if request.isWaitedFor { order.append(oldest) } else { forget(oldest) }
            if order.first == oldest { break }
        }
    }

    mutating func forget(_ name: String) {
        guard let request = requests.removeValue(forKey: name) else { return }
        if let outcome = request.kept { kept.remove(outcome.bytes.count, from: outcome.sender) }
        counts[request.host] = counts[request.host].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Keeps an outcome until the router asks for it.
    ///
    /// - Returns: false if there is no room, so that the outcome is lost.
    mutating func keep(_ outcome: [UInt8], from sender: HostName, for name: String) -> Bool {
        guard let request = requests[name], request.kept == nil, kept.take(outcome.count, for: sender) == nil else {
            return false
        }
        request.kept = (outcome, sender)
        return true
    }
}
