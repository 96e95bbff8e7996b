internal import Logging
internal import Reactor

/// Notices when deliveries expire, also those to a host that cannot be reached. It has one timer, for the earliest time.
///
/// It belongs to the router's actor.
final class DeliveryExpiry {
    private let store: DeliveryStore
    private let log: Logger
    private let tasks: RouterTasks
    /// Ends a delivery that has expired, unless it is in progress: the end of its attempt shows that it has expired.
    private let end: (_ id: Int64, _ problem: String?) async throws(DeliveryStoreError) -> Void
    private let timer: RestartableTimer
    /// When the timer looks for deliveries that have expired, in milliseconds since 1970; nil if it is not set.
    private var next: Int64?
    private var isStopped = false

    init(
        _ store: DeliveryStore,
        on loop: EventLoop,
        log: Logger,
        tasks: RouterTasks,
        end: @escaping (_ id: Int64, _ problem: String?) async throws(DeliveryStoreError) -> Void
    ) {
        self.store = store
        self.log = log
        self.tasks = tasks
        self.end = end
        timer = RestartableTimer(on: loop)
    }

    /// Sets the timer for a delivery that expires at this time, unless another one expires earlier.
    func plan(at time: Int64) {
        guard !isStopped, time < next ?? .max else { return }
        next = time
        timer.start(at: .now + .milliseconds(max(time - WallClock.milliseconds, 1))) {
            self.tasks.start { await self.endExpired() }
        }
    }

    /// Ends the deliveries that have expired, and sets the timer for the one that expires next.
    func endExpired() async {
        let now = WallClock.milliseconds
        next = nil
        do throws(DeliveryStoreError) {
            for (id, problem) in try await store.expired(at: now) { try await end(id, problem) }
            // Others may have expired meanwhile.
            if let time = try await store.nextExpiry(after: now) { plan(at: time) }
        } catch {
            log.error("queued URLs that have expired: \(error)")
        }
    }

    /// Ends the watch.
    func stop() {
        isStopped = true
        timer.cancel()
    }
}
