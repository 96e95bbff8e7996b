internal import DBus

/// How much room each caller's deliveries take up in the queue. One caller gets at most half of what is left.
struct QueueShares {
    private var deliveries: Shares<String>
    private var bytes: Shares<String>

    init(deliveries limit: Int, bytes size: Int) {
        deliveries = Shares(limit: limit)
        bytes = Shares(limit: size)
    }

    /// Charges a caller for what it has in the queue.
    mutating func add(deliveries count: Int = 1, bytes size: Int, of caller: String) {
        deliveries.add(count, to: caller)
        bytes.add(size, to: caller)
    }

    /// Stops charging a caller for a delivery.
    mutating func remove(bytes size: Int, of caller: String) {
        deliveries.remove(1, from: caller)
        bytes.remove(size, from: caller)
    }

    /// Returns in words why there is no room for another delivery from a caller; nil if there is room.
    func refusal(of caller: String, bytes size: Int) -> String? {
        let refusals = [deliveries.refusal(of: caller, 1), bytes.refusal(of: caller, size)].compactMap(\.self)
        if refusals.isEmpty { return nil }
        if refusals.contains(.isFull) { return "it is full" }
        let held = deliveries[caller]
        return "it has \(held) URLs of \(caller), and one sender gets at most half of the room that is left"
    }
}
