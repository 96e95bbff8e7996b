internal import HeapModule
internal import OpenURLBus
internal import Reactor

/// Which deliveries wait until when, and which are on their way.
///
/// Those for one handler go one after the other, so that one which crashes it takes no other along; those for others do not
/// wait for them. All of it belongs to the router's actor.
final class DeliveryQueue {
    let store: DeliveryStore
    private let loop: EventLoop
    /// The time of each delivery that waits; an entry of the heaps with another one is out of date.
    private var times: [Int64: ContinuousClock.Instant] = [:]
    private var waiting: [String: Heap<Entry>] = [:]
    /// The delivery that each handler has.
    private var onTheirWay: [String: Int64] = [:]
    /// How many are being stored.
    private var accepting = 0
    private var timer: TimerID?
    /// What became of deliveries, as long as the store does not know it.
    var outcomes: [Int64: Outcome] = [:]

    enum Outcome {
        case delivered
        /// With no delay it is not tried again; one that does not count was no attempt.
        case failed(OpenURLError, delay: Duration?, counts: Bool)

        var attempt: URLRouter.DeliveryAttempt {
            switch self {
            case .delivered: .delivered
            case .failed(_, let delay, _): delay.map(URLRouter.DeliveryAttempt.again) ?? .dead
            }
        }
    }

    private enum State {
        /// The router does not own its name yet.
        case new
        case running
        /// Nothing is begun any more.
        case stopping
        /// Another router may have read the store already.
        case closed
    }

    private var state = State.new
    private var idleWaiter: CheckedContinuation<Void, Never>?

    private struct Entry: Comparable {
        let time: ContinuousClock.Instant
        let id: Int64

        static func < (a: Entry, b: Entry) -> Bool { (a.time, a.id) < (b.time, b.id) }
    }

    /// Nothing is held up for longer, whatever the clock on the wall did in between: the longest delay.
    private static let longestWait = Duration.seconds(60)

    init(_ store: DeliveryStore, on loop: EventLoop) {
        self.store = store
        self.loop = loop
    }

    var isClosed: Bool { state == .closed }
    var mayStart: Bool { state == .new || state == .running }

    // MARK: What waits

    /// Has a delivery wait for so long; one that waits already has its time from now on, one that is on its way is left alone.
    func add(_ id: Int64, for handler: String, in time: Duration = .zero) {
        guard !isOnItsWay(id) else { return }
        let time = ContinuousClock.now + min(max(time, .zero), Self.longestWait)
        times[id] = time
        waiting[handler, default: []].insert(Entry(time: time, id: id))
    }

    /// Takes out what waits no more, if it waited.
    func remove(_ id: Int64) {
        times[id] = nil
    }

    func isWaiting(_ id: Int64) -> Bool { times[id] != nil }

    /// Whether a handler has it, or is being started for it.
    func isOnItsWay(_ id: Int64) -> Bool { onTheirWay.values.contains(id) }

    func start() {
        if state == .new { state = .running }
    }

    /// Takes the next delivery that is due and whose handler has none; the order is that of the times.
    ///
    /// - Parameter changed: called when the time of the next one has come.
    func next(whenDue changed: @escaping () -> Void) -> (id: Int64, handler: String)? {
        if let timer { loop.cancelTimer(timer) }
        timer = nil
        guard state == .running else { return nil }
        var first: (entry: Entry, handler: String)?
        for handler in waiting.keys where onTheirWay[handler] == nil {
            while let entry = waiting[handler]?.min, times[entry.id] != entry.time { waiting[handler]?.removeMin() }
            guard let entry = waiting[handler]?.min else {
                waiting[handler] = nil
                continue
            }
            if first.map({ entry < $0.entry }) ?? true { first = (entry, handler) }
        }
        guard let (entry, handler) = first else { return nil }
        guard entry.time <= .now else {
            timer = loop.schedule(at: entry.time, changed)
            return nil
        }
        waiting[handler]?.removeMin()
        times[entry.id] = nil
        onTheirWay[handler] = entry.id
        return (entry.id, handler)
    }

    /// A handler is done with its delivery.
    func ended(_ handler: String) {
        onTheirWay[handler] = nil
        resumeIfIdle()
    }

    // MARK: Accepting and ending

    func beginAccepting() {
        accepting += 1
    }

    func endAccepting() {
        accepting -= 1
        resumeIfIdle()
    }

    /// Begins nothing any more, and returns when nothing is on its way; then refuses what comes, and returns when what came
    /// before is stored.
    func stop() async {
        guard mayStart else { return }
        state = .stopping
        await idle()
        state = .closed
        await idle()
    }

    /// Returns when nothing is left of what the state has an end of.
    private func idle() async {
        // It is looked at when the task waits: it may be suspended on its way to there.
        await withCheckedContinuation { continuation in
            idleWaiter = continuation
            resumeIfIdle()
        }
    }

    private func resumeIfIdle() {
        guard state == .stopping && onTheirWay.isEmpty || state == .closed && accepting == 0 else { return }
        idleWaiter?.resume()
        idleWaiter = nil
    }
}
