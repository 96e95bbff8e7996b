internal import HeapModule

/// Deliveries whose time has not come, the earliest first.
///
/// As in the loop's timers, removing a delivery leaves its entry in the heap. Once more than half of the heap consists of
/// such entries, it is rebuilt. On average, each change takes logarithmic time.
struct TimedDeliveries {
    private struct Entry: Comparable {
        let due: Int64
        let id: Int64

        static func < (a: Entry, b: Entry) -> Bool { (a.due, a.id) < (b.due, b.id) }
    }

    private var heap = Heap<Entry>()
    private var deliveries: [Int64: DeliveryStore.Waiting] = [:]

    /// Adds a delivery, or moves it to another time.
    mutating func add(_ delivery: DeliveryStore.Waiting) {
        // After a change of the clock, most deliveries are added again with the same time.
        if deliveries[delivery.id]?.due == delivery.due { return }
        remove(delivery.id)
        deliveries[delivery.id] = delivery
        heap.insert(Entry(due: delivery.due, id: delivery.id))
    }

    /// Removes a delivery, if it is there.
    mutating func remove(_ id: Int64) {
        guard deliveries.removeValue(forKey: id) != nil, heap.count > 2 * deliveries.count + 64 else { return }
        heap = Heap(deliveries.values.map { Entry(due: $0.due, id: $0.id) })
    }

    /// Returns the earliest time, in milliseconds since 1970; nil if there is no delivery.
    mutating func earliest() -> Int64? {
        while let entry = heap.min {
            if deliveries[entry.id]?.due == entry.due { return entry.due }
            heap.removeMin()
        }
        return nil
    }

    /// Removes the deliveries whose time has come, and returns them in the order of their times.
    mutating func removeDue(at now: Int64) -> [DeliveryStore.Waiting] {
        var due: [DeliveryStore.Waiting] = []
        while let time = earliest(), time <= now, let entry = heap.popMin() {
            if let delivery = deliveries.removeValue(forKey: entry.id) { due.append(delivery) }
        }
        return due
    }
}
