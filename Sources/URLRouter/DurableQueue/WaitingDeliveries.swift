internal import HeapModule
internal import OpenURLBus

/// The deliveries that wait for their time, and the deliveries in progress: at most one for each handler.
///
/// Deliveries to one handler run one at a time, so a URL that crashes the handler affects no other. Handlers do not wait for
/// each other.
struct WaitingDeliveries {
    private struct Entry: Comparable {
        let time: ContinuousClock.Instant
        let id: Int64

        static func < (a: Entry, b: Entry) -> Bool { (a.time, a.id) < (b.time, b.id) }
    }

    /// The next delivery to try.
    enum Next {
        case due(id: Int64, handler: String)
        case notBefore(ContinuousClock.Instant)
        case none
    }

    /// The time of each waiting delivery; an entry of the heaps with another time is out of date.
    private var times: [Int64: ContinuousClock.Instant] = [:]
    private var waiting: [String: Heap<Entry>] = [:]
    /// The delivery in progress of each handler.
    private var inProgress: [String: Int64] = [:]

    /// The longest time that a delivery waits: the longest retry delay. The store keeps times of the wall clock, and a jump
    /// of that clock can therefore not delay a delivery for longer.
    private static let longestWait = Duration.seconds(60)

    /// Whether no delivery is in progress.
    var isIdle: Bool { inProgress.isEmpty }

    /// Makes a delivery wait for a time. A waiting delivery gets the new time; a delivery in progress is left alone.
    mutating func add(_ id: Int64, for handler: String, in time: Duration = .zero) {
        guard !isInProgress(id) else { return }
        let time = ContinuousClock.now + min(max(time, .zero), Self.longestWait)
        times[id] = time
        waiting[handler, default: []].insert(Entry(time: time, id: id))
    }

    /// Ends the waiting of all deliveries of a handler.
    mutating func makeDue(_ handler: String) {
        let now = ContinuousClock.now
        let entries = (waiting[handler]?.unordered ?? []).filter { times[$0.id] == $0.time }
        for entry in entries { times[entry.id] = min(entry.time, now) }
        waiting[handler] = entries.isEmpty ? nil : Heap(entries.map { Entry(time: min($0.time, now), id: $0.id) })
    }

    /// Removes a delivery, if it waits.
    mutating func remove(_ id: Int64) {
        times[id] = nil
    }

    /// Whether a handler has the delivery, or is being started for it.
    func isInProgress(_ id: Int64) -> Bool { inProgress.values.contains(id) }

    /// Takes the next delivery that is due and whose handler has none in progress, in the order of their times.
    mutating func next() -> Next {
        var first: (entry: Entry, handler: String)?
        for handler in waiting.keys where inProgress[handler] == nil {
            while let entry = waiting[handler]?.min, times[entry.id] != entry.time { waiting[handler]?.removeMin() }
            guard let entry = waiting[handler]?.min else {
                waiting[handler] = nil
                continue
            }
            if first.map({ entry < $0.entry }) ?? true { first = (entry, handler) }
        }
        guard let (entry, handler) = first else { return .none }
        guard entry.time <= .now else { return .notBefore(entry.time) }
        waiting[handler]?.removeMin()
        times[entry.id] = nil
        inProgress[handler] = entry.id
        return .due(id: entry.id, handler: handler)
    }

    /// Ends the delivery in progress of a handler.
    mutating func end(_ handler: String) {
        inProgress[handler] = nil
    }
}
