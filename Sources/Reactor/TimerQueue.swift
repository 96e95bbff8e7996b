internal import HeapModule

/// Identifies one timer of an ``EventLoop``.
public struct TimerID: Hashable, Sendable {
    fileprivate let number: UInt64
}

/// One loop's deadlines, the earliest first.
///
/// Most timers guard a call that ends long before its deadline. So cancelling a timer removes only its handler, and
/// leaves the entry in the heap. Once more than half of the heap consists of cancelled entries, it is rebuilt. On
/// average, cancelling takes constant time.
struct TimerQueue {
    private struct Entry: Comparable {
        /// The time from ``origin`` to the deadline. A duration takes a tenth of the time to compare and to copy.
        let deadline: Duration
        let id: TimerID

        static func < (a: Entry, b: Entry) -> Bool {
            a.deadline == b.deadline ? a.id.number < b.id.number : a.deadline < b.deadline
        }
    }

    private let origin = ContinuousClock.now
    private var heap = Heap<Entry>()
    private var handlers: [TimerID: () -> Void] = [:]
    private var lastNumber: UInt64 = 0

    mutating func add(_ deadline: ContinuousClock.Instant, _ handler: @escaping () -> Void) -> TimerID {
        lastNumber += 1
        let id = TimerID(number: lastNumber)
        handlers[id] = handler
        heap.insert(Entry(deadline: origin.duration(to: deadline), id: id))
        return id
    }

    mutating func cancel(_ id: TimerID) {
        guard handlers.removeValue(forKey: id) != nil else { return }
        if heap.count > 2 * handlers.count + 64 {
            heap = Heap(heap.unordered.filter { handlers[$0.id] != nil })
        }
    }

    /// Returns the milliseconds until the nearest deadline, rounded up; -1 if there is no deadline.
    mutating func millisecondsToNext() -> CInt {
        dropCancelled()
        guard let next = heap.min else { return -1 }
        let left = next.deadline - origin.duration(to: .now)
        guard left > .zero else { return 0 }
        let (seconds, attoseconds) = left.components
        let milliseconds = attoseconds / 1_000_000_000_000_000 + 1
        return CInt(clamping: min(seconds, 1_000_000) * 1000 + milliseconds)
    }

    /// Whether no timer is waiting.
    var isEmpty: Bool { handlers.isEmpty }

    /// Removes the deadlines that have passed by `now` and returns their timers, the earliest first.
    ///
    /// Get each handler with ``takeHandler(_:)`` only when its turn comes, because an earlier handler may cancel a
    /// later timer.
    mutating func popDue(by now: ContinuousClock.Instant) -> [TimerID] {
        var due: [TimerID] = []
        let now = origin.duration(to: now)
        while let next = heap.min, next.deadline <= now {
            heap.removeMin()
            due.append(next.id)
        }
        return due
    }

    /// Removes and returns the handler of a timer that is due; nil if it has been cancelled.
    mutating func takeHandler(_ id: TimerID) -> (() -> Void)? {
        handlers.removeValue(forKey: id)
    }

    private mutating func dropCancelled() {
        while let next = heap.min, handlers[next.id] == nil { heap.removeMin() }
    }
}
