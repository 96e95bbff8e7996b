/// The amounts that the deliveries of each caller take up in the queue.
///
/// A caller gets at most half of what is left: its own deliveries are never more than the room that stays free. One caller
/// therefore cannot fill the queue, and there is room for every further caller. dbus-broker divides its limits by the same
/// rule.
struct QueueShares {
    /// A number of deliveries, and their size.
    struct Amount: Hashable {
        var deliveries = 0
        var bytes = 0

        static func += (amount: inout Amount, other: Amount) {
            amount.deliveries += other.deliveries
            amount.bytes += other.bytes
        }

        static func -= (amount: inout Amount, other: Amount) {
            amount.deliveries -= other.deliveries
            amount.bytes -= other.bytes
        }
    }

    private var all = Amount()
    private var callers: [String: Amount] = [:]

    /// Counts what a caller has in the queue.
    mutating func add(_ amount: Amount, of caller: String) {
        all += amount
        callers[caller, default: Amount()] += amount
    }

    /// Counts what a caller has no longer.
    mutating func remove(_ amount: Amount, of caller: String) {
        all -= amount
        callers[caller, default: Amount()] -= amount
        if callers[caller]?.deliveries == 0 { callers[caller] = nil }
    }

    /// The reason for which a further delivery of a caller has no place, in words; nil if there is a place.
    func refusal(of caller: String, bytes: Int, _ limits: DeliveryStoreLimits) -> String? {
        var (all, own) = (all, callers[caller, default: Amount()])
        let more = Amount(deliveries: 1, bytes: bytes)
        let held = own.deliveries
        all += more
        own += more
        let places = limits.deliveries - all.deliveries
        let room = limits.bytes - all.bytes
        if places < 0 || room < 0 { return "it is full" }
        guard own.deliveries > places || own.bytes > room else { return nil }
        return "it holds \(held) URLs of \(caller), and one sender gets at most half of the room that is left"
    }
}
