internal import DBus
internal import HeapModule
internal import Reactor

/// Which deliveries wait until when, and which are on their way.
///
/// Those for one handler go one after the other, so that one which crashes it takes no other along; those for others do not
/// wait for them. All of it belongs to the router's actor.
final class DeliveryQueue {
    let store: DeliveryStore
    private let loop: EventLoop
    private var waiting: [String: Heap<Entry>] = [:]
    private(set) var count = 0
    /// The delivery that each handler has.
    private var onTheirWay: [String: Int64] = [:]
    private var timer: TimerID?

    /// Nothing is begun before the router owns its name, nor when it is ending.
    private var isRunning = false
    /// Whether another router may have read the store already.
    private(set) var isClosed = false
    private var idleWaiter: CheckedContinuation<Void, Never>?

    private struct Entry: Comparable {
        let due: Int64
        let id: Int64

        static func < (a: Entry, b: Entry) -> Bool { (a.due, a.id) < (b.due, b.id) }
    }

    init(_ store: DeliveryStore, on loop: EventLoop) {
        self.store = store
        self.loop = loop
    }

    func add(_ delivery: DeliveryStore.Waiting) {
        waiting[delivery.handler, default: []].insert(Entry(due: delivery.due, id: delivery.id))
        count += 1
    }

    /// Takes out what waits no more, if it waited.
    func remove(_ id: Int64) {
        for (handler, entries) in waiting where entries.unordered.contains(where: { $0.id == id }) {
            let rest = Heap(entries.unordered.filter { $0.id != id })
            waiting[handler] = rest.isEmpty ? nil : rest
            count -= 1
        }
    }

    /// Whether a handler has it, or is being started for it.
    func isOnItsWay(_ id: Int64) -> Bool { onTheirWay.values.contains(id) }

    /// Begins with what an earlier router has left, besides what has been accepted by then.
    func start(with stored: [DeliveryStore.Waiting], now: Int64) {
        let known = Set(waiting.values.flatMap(\.unordered).map(\.id))
        for var delivery in stored where !known.contains(delivery.id) {
            // A clock that was put back must not hold anything up for longer than the longest delay.
            delivery.due = min(delivery.due, now + 60_000)
            add(delivery)
        }
        isRunning = true
    }

    /// Takes the next delivery that is due and whose handler has none; the order is that of the times, and of arrival among
    /// those of the same time.
    ///
    /// - Parameter changed: called when the time of the next one has come.
    func next(now: Int64, whenDue changed: @escaping () -> Void) -> (id: Int64, handler: String)? {
        if let timer { loop.cancelTimer(timer) }
        timer = nil
        guard isRunning else { return nil }
        let free = waiting.filter { onTheirWay[$0.key] == nil }.compactMap { handler, entries in
            entries.min.map { (entry: $0, handler: handler) }
        }
        guard let (first, handler) = free.min(by: { $0.entry < $1.entry }) else { return nil }
        guard first.due <= now else {
            timer = loop.schedule(at: .now + .milliseconds(first.due - now), changed)
            return nil
        }
        waiting[handler]?.removeMin()
        if waiting[handler]?.isEmpty == true { waiting[handler] = nil }
        count -= 1
        onTheirWay[handler] = first.id
        return (first.id, handler)
    }

    /// A handler is done with its delivery.
    func ended(_ handler: String) {
        onTheirWay[handler] = nil
        guard onTheirWay.isEmpty, let idleWaiter else { return }
        self.idleWaiter = nil
        idleWaiter.resume()
    }

    /// Begins nothing any more, and returns when nothing is on its way.
    func stop() async {
        isRunning = false
        if !onTheirWay.isEmpty { await withCheckedContinuation { idleWaiter = $0 } }
        isClosed = true
    }
}
