internal import HeapModule
internal import OpenURLBus

/// Deliveries that wait for their time, and those in progress: at most one for each handler, and several for each other
/// host.
///
/// Because deliveries to one handler run one at a time, a URL that crashes the handler affects no other. Handlers do
/// not wait for each other. Deliveries are made in the order of their times, with one exception: if a sender has many
/// deliveries to one handler, a delivery from another sender goes ahead of each of them.
struct WaitingDeliveries {
    /// A position in the order.
    private struct Entry: Comparable {
        let time: ContinuousClock.Instant
        let id: Int64

        static func < (a: Entry, b: Entry) -> Bool { (a.time, a.id) < (b.time, b.id) }
    }

    /// All deliveries of one sender to one handler.
    private struct Line {
        /// Waiting deliveries. If an entry's time differs from its delivery's, the entry is out of date.
        var entries = Heap<Entry>()
        /// Number of waiting deliveries.
        var count = 0
        /// The number of the sender's last turn among the senders with many deliveries.
        var lastTurn: UInt64 = 0
    }

    private struct Delivery {
        /// The time of the next attempt.
        var time: ContinuousClock.Instant
        /// The time of the next attempt if nothing makes the delivery due earlier.
        let ownTime: ContinuousClock.Instant
        /// Nothing makes the delivery due before this time.
        let earliest: ContinuousClock.Instant
        let handler: String
        let sender: String
    }

    /// A delivery that is to be tried.
    struct Due {
        let id: Int64
        let handler: String
        let sender: String
        /// The time for which the delivery waited. It is still to come if something has made the delivery due earlier.
        let ownTime: ContinuousClock.Instant
    }

    /// Next delivery to try.
    enum Next {
        case due(Due)
        case notBefore(ContinuousClock.Instant)
        case none
    }

    /// Waiting deliveries by number.
    private var deliveries: [Int64: Delivery] = [:]
    /// Each handler's lines, by the senders' accounts.
    private var lines: [String: [String: Line]] = [:]
    /// Each handler's deliveries in progress.
    private var inProgress: [String: Set<Int64>] = [:]
    /// Handlers and hosts to which nothing is delivered for now.
    private var held: Set<String> = []
    /// Handlers whose last delivery was one of many.
    private var hadOneOfMany: Set<String> = []
    private var turns: UInt64 = 0
    /// A sender with more than this number of deliveries to one handler has many.
    private let many: Int

    init(_ limits: RouterLimits) {
        many = limits.manyRequests
    }

    /// Longest time that a delivery waits, which is the longest retry delay. Because the store keeps wall-clock times,
    /// this limit keeps a jump in that clock from delaying a delivery any longer.
    static let longestWait = Duration.seconds(60)

    /// Whether no delivery is in progress.
    var isIdle: Bool { inProgress.isEmpty }

    /// Makes a delivery wait for the given time, but for ``longestWait`` at most. If it is already waiting, it gets the new
    /// time; if it is in progress, nothing changes.
    mutating func add(_ id: Int64, for handler: String, of sender: String, in time: Duration = .zero) {
        add(id, for: handler, of: sender, until: ContinuousClock.now + min(max(time, .zero), Self.longestWait))
    }

    /// Makes a delivery wait until the given time. If it is already waiting, it gets the new time; if it is in progress,
    /// nothing changes.
    ///
    /// - Parameter earliest: nothing makes it due before this time; nil for no such limit.
    mutating func add(
        _ id: Int64,
        for handler: String,
        of sender: String,
        until time: ContinuousClock.Instant,
        notBefore earliest: ContinuousClock.Instant? = nil
    ) {
        guard !isInProgress(id) else { return }
        remove(id)
        deliveries[id] = Delivery(
            time: time,
            ownTime: time,
            earliest: earliest ?? .now,
            handler: handler,
            sender: sender
        )
        lines[handler, default: [:]][sender, default: Line()].count += 1
        lines[handler]?[sender]?.entries.insert(Entry(time: time, id: id))
    }

    /// Delivers nothing to a handler until ``release(_:)``.
    mutating func hold(_ handler: String) { held.insert(handler) }

    /// Delivers to a handler again.
    mutating func release(_ handler: String) { held.remove(handler) }

    /// Makes one delivery due now, or as early as it may be due, if it is waiting.
    mutating func makeDue(_ id: Int64) {
        guard let delivery = deliveries[id] else { return }
        let time = max(.now, delivery.earliest)
        guard delivery.time > time else { return }
        deliveries[id]?.time = time
        lines[delivery.handler]?[delivery.sender]?.entries.insert(Entry(time: time, id: id))
    }

    /// Makes all waiting deliveries of a handler due now, or as early as they may be due.
    mutating func makeDue(_ handler: String) {
        release(handler)
        let now = ContinuousClock.now
        for (sender, line) in lines[handler, default: [:]] {
            let entries = line.entries.unordered.compactMap { entry -> Entry? in
                guard let delivery = deliveries[entry.id], delivery.time == entry.time else { return nil }
                return Entry(time: min(entry.time, max(now, delivery.earliest)), id: entry.id)
            }
            for entry in entries { deliveries[entry.id]?.time = entry.time }
            lines[handler]?[sender]?.entries = Heap(entries)
        }
    }

    /// Removes a delivery if it is waiting.
    mutating func remove(_ id: Int64) {
        guard let delivery = deliveries.removeValue(forKey: id) else { return }
        lines[delivery.handler]?[delivery.sender]?.count -= 1
        guard lines[delivery.handler]?[delivery.sender]?.count == 0 else { return }
        lines[delivery.handler]?[delivery.sender] = nil
        guard lines[delivery.handler]?.isEmpty == true else { return }
        lines[delivery.handler] = nil
        hadOneOfMany.remove(delivery.handler)
    }

    /// Returns whether a handler has the delivery, or is being started for it.
    func isInProgress(_ id: Int64) -> Bool { inProgress.values.contains { $0.contains(id) } }

    /// The handlers and hosts for which deliveries wait or are in progress.
    var handlers: Set<String> { Set(lines.keys).union(inProgress.keys) }

    /// Returns a handler's deliveries in progress.
    func inProgress(of handler: String) -> Set<Int64> { inProgress[handler] ?? [] }

    /// Whether a handler can have another delivery.
    private func hasRoom(_ handler: String) -> Bool {
        guard let count = inProgress[handler]?.count else { return !held.contains(handler) }
        let limit = handler.hasPrefix(Hosts.handlerMark) ? HostsInterface.requestsInFlight : 1
        return count < limit && !held.contains(handler)
    }

    /// Takes the next delivery that is due and whose handler can have another one.
    mutating func next() -> Next {
        let now = ContinuousClock.now
        var first: (entry: Entry, handler: String, sender: String)?
        var earliest: ContinuousClock.Instant?
        for handler in lines.keys where hasRoom(handler) {
            removeOldEntries(of: handler)
            guard let (entry, sender) = firstDue(of: handler, at: now) else {
                // In a debug build, Swift's key paths copy an optional onto itself here, which AddressSanitizer reports.
                let time = lines[handler]?.values.compactMap { $0.entries.min?.time }.min()
                earliest = [earliest, time].compactMap(\.self).min()
                continue
            }
            if first.map({ entry < $0.entry }) ?? true { first = (entry, handler, sender) }
        }
        guard let (entry, handler, sender) = first else { return earliest.map(Next.notBefore) ?? .none }
        hadOneOfMany.remove(handler)
        if hasMany(sender, handler) {
            hadOneOfMany.insert(handler)
            turns += 1
            lines[handler]?[sender]?.lastTurn = turns
        }
        lines[handler]?[sender]?.entries.removeMin()
        let ownTime = deliveries[entry.id]?.ownTime ?? entry.time
        remove(entry.id)
        inProgress[handler, default: []].insert(entry.id)
        return .due(Due(id: entry.id, handler: handler, sender: sender, ownTime: ownTime))
    }

    private mutating func removeOldEntries(of handler: String) {
        for sender in lines[handler, default: [:]].keys {
            while let entry = lines[handler]?[sender]?.entries.min, deliveries[entry.id]?.time != entry.time {
                lines[handler]?[sender]?.entries.removeMin()
            }
        }
    }

    /// Returns a handler's first due delivery.
    private func firstDue(of handler: String, at now: ContinuousClock.Instant) -> (entry: Entry, sender: String)? {
        var one: (entry: Entry, sender: String)?
        var oneOfMany: (entry: Entry, sender: String, lastTurn: UInt64)?
        for (sender, line) in lines[handler, default: [:]] {
            guard let entry = line.entries.min, entry.time <= now else { continue }
            if hasMany(sender, handler) {
                // Senders with many deliveries take turns.
                if oneOfMany.map({ (line.lastTurn, entry) < ($0.lastTurn, $0.entry) }) ?? true {
                    oneOfMany = (entry, sender, line.lastTurn)
                }
            } else if one.map({ entry < $0.entry }) ?? true {
                one = (entry, sender)
            }
        }
        guard let oneOfMany else { return one }
        if let one, one.entry < oneOfMany.entry || hadOneOfMany.contains(handler) { return one }
        return (oneOfMany.entry, oneOfMany.sender)
    }

    private func hasMany(_ sender: String, _ handler: String) -> Bool {
        lines[handler]?[sender].map { $0.count > many } ?? false
    }

    /// Ends a handler's delivery in progress.
    mutating func end(_ id: Int64, of handler: String) {
        inProgress[handler]?.remove(id)
        if inProgress[handler]?.isEmpty == true { inProgress[handler] = nil }
    }
}
