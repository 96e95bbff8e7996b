internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// Stores URLs that are to be delivered later, and tries each delivery when its time has come.
///
/// ``WaitingDeliveries`` says which delivery is next, and ``DeliveryAttempts`` makes the attempt. It belongs to the router's
/// actor.
final class DeliveryScheduler {
    let store: DeliveryStore
    private let signals: any RouterSignals
    private let log: Logger
    private let tasks: RouterTasks
    let outcomes: AwaitedOutcomes
    private let attempts: DeliveryAttempts

    private var state = State.new
    private(set) var waiting: WaitingDeliveries
    /// URLs that have arrived but have not been handed to the store yet.
    let arrivals = ArrivalOrder()
    /// Number of deliveries that are being stored.
    private var storing = 0
    private let timer: RestartableTimer
    private(set) lazy var expiry = DeliveryExpiry(
        store,
        on: loop,
        log: log,
        tasks: tasks,
        end: { [unowned self] (id: Int64, problem: String?) async throws(DeliveryStoreError) in
            try await endExpired(id, problem)
        }
    )
    /// Deliveries that wait for the times that their senders have set.
    private lazy var timetable = DeliveryTimetable(
        on: loop,
        log: log,
        timeHasCome: { [unowned self] in
            for delivery in $0 { waiting.add(delivery.id, for: delivery.handler, of: delivery.sender) }
            deliverDue()
        },
        clockHasChanged: { [unowned self] in tasks.start { await self.run() } }
    )
    private let loop: EventLoop
    private let limits: RouterLimits
    /// Deliveries in progress that are tried again at once if this attempt does not end them, because something has changed
    /// since it began.
    private var hurried: Set<Int64> = []
    private var idleWaiter: CheckedContinuation<Void, Never>?

    /// The time before the store is tried again when it cannot be used.
    static let pause = Duration.seconds(60)

    private enum State {
        /// This router does not own its name yet.
        case new
        case running
        /// No new attempt begins.
        case stopping
        /// Nothing is stored any longer, because the next router may have read the store already.
        case closed
    }

    init(
        _ store: DeliveryStore,
        bus: any BusNames,
        signals: any RouterSignals,
        loop: EventLoop,
        limits: RouterLimits,
        log: Logger,
        tasks: RouterTasks,
        receivers: @escaping () -> [any DeliveryReceiver],
        quarantine: @escaping (String) -> Duration?
    ) {
        self.store = store
        self.signals = signals
        self.log = log
        self.tasks = tasks
        self.loop = loop
        self.limits = limits
        waiting = WaitingDeliveries(limits)
        let outcomes = AwaitedOutcomes(store, bus, loop, tasks, limit: limits.replyWaiters)
        self.outcomes = outcomes
        attempts = DeliveryAttempts(
            store,
            bus,
            signals,
            outcomes,
            log: log,
            receivers: receivers,
            quarantine: quarantine
        )
        timer = RestartableTimer(on: loop)
    }

    // MARK: Start and end

    /// Begins to deliver both the URLs that an earlier router left and those that arrive from now on. Later calls look
    /// again when the deliveries with a time are due.
    ///
    /// If another router of the same user, on another bus, delivers from the same store, this one waits until the other
    /// has exited.
    func run() async {
        guard state == .new || state == .running else { return }
        do throws(DeliveryStoreError) {
            if let stored = try await store.waiting() {
                let now = WallClock.milliseconds
                for delivery in stored { wait(for: delivery, at: now) }
                if state == .new { state = .running }
                if state == .running { timetable.start() }
                await expiry.endExpired()
                return deliverDue()
            }
            log.notice("another router of this user delivers the queued URLs")
        } catch {
            log.error("\(error)")
        }
        // Meanwhile, the scheduler may have been stopped.
        guard state == .new else { return }
        timer.start(in: Self.pause) { self.tasks.start { await self.run() } }
    }

    private func wait(for delivery: DeliveryStore.Waiting, at now: Int64) {
        if delivery.isTimed, delivery.due > now {
            // The time may have changed after it had come.
            waiting.remove(delivery.id)
            timetable.add(delivery)
        } else {
            timetable.remove(delivery.id)
            let time = Duration.milliseconds(delivery.due - now)
            waiting.add(delivery.id, for: delivery.handler, of: delivery.sender, in: time)
        }
    }

    /// Prevents new attempts, and returns when the deliveries in progress have ended and every accepted URL is stored. It
    /// tries once more to record the deliveries that were made but could not be recorded.
    func stop() async {
        guard state == .new || state == .running else { return }
        state = .stopping
        endWatches()
        await idle()
        state = .closed
        await idle()
        await attempts.abandon()
        await store.giveBack()
    }

    /// Stops work immediately, because the bus is gone or ``stop()`` takes too long. Attempts in progress do not count. A
    /// later call waits for what an earlier one has left.
    func abandon() async {
        state = .closed
        endWatches()
        await attempts.abandon()
        await store.giveBack()
    }

    private func endWatches() {
        timer.cancel()
        timetable.stop()
        expiry.stop()
        outcomes.stop()
    }

    /// Returns when all the work that this state still allows has ended.
    private func idle() async {
        // This check must be inside the closure, because the task may be suspended before it gets there.
        await withCheckedContinuation { continuation in
            idleWaiter = continuation
            resumeIfIdle()
        }
    }

    private func resumeIfIdle() {
        guard state == .stopping && waiting.isIdle || state == .closed && storing == 0 else { return }
        idleWaiter?.resume()
        idleWaiter = nil
    }

    // MARK: Accepting

    /// Stores a delivery whose turn it is (``arrivals``). Returns its number once it is on disk.
    ///
    /// - Parameter limit: how many local notifications of the handler may wait, if the delivery is one. The latest ones
    ///   make way for it, and one with the same URL.
    /// - Parameter origin: the request of another host that the delivery is, which is stored only once; nil if it is none.
    /// - Throws: `notQueued` and `limitsExceeded`.
    func accept(
        _ delivery: Delivery,
        keepingSoonest limit: Int? = nil,
        of origin: RequestKey? = nil
    ) async throws(OpenURLError) -> Int64 {
        if state == .closed { throw OpenURLError(.notQueued, "the router is exiting; try again") }
        storing += 1
        defer {
            storing -= 1
            resumeIfIdle()
        }
        let now = WallClock.milliseconds
        let due = try due(delivery, at: now)
        let accepted: DeliveryStore.Accepted
        do throws(DeliveryStoreError) {
            accepted = try await store.accept(delivery, at: now, due: due, keepingSoonest: limit, of: origin)
        } catch {
            throw OpenURLError(error.isFull ? .limitsExceeded : .notQueued, error.description)
        }
        if accepted.isRepeated { return accepted.id }
        if let lifetime = delivery.options.lifetime { expiry.plan(at: (due ?? now) + lifetime.milliseconds) }
        for removed in accepted.removed { giveUp(removed) }
        wait(
            for: DeliveryStore.Waiting(
                id: accepted.id,
                handler: delivery.handler,
                sender: delivery.caller,
                due: due ?? now,
                isTimed: due != nil
            ),
            at: WallClock.milliseconds
        )
        deliverDue()
        return accepted.id
    }

    /// Returns when a new delivery is due, in milliseconds since 1970; nil if its sender has set no time.
    ///
    /// - Throws: `notQueued` if the time has passed.
    private func due(_ delivery: Delivery, at now: Int64) throws(OpenURLError) -> Int64? {
        guard let schedule = delivery.schedule else { return nil }
        let due = schedule.due(in: store.zone())
        // A time that has passed while the call was on its way is not the sender's mistake.
        guard let due, due > now - Int64(limits.callTime / .milliseconds(1)) else {
            throw OpenURLError(.notQueued, "the time \(schedule.time.rawValue) has passed")
        }
        return due
    }

    // MARK: Attempts

    private func deliverDue() {
        guard state == .running else { return }
        timer.cancel()
        while true {
            switch waiting.next() {
            case .due(let due): tasks.start { await self.deliver(due) }
            case .notBefore(let time): return timer.start(at: time) { self.deliverDue() }
            case .none: return
            }
        }
    }

    private func deliver(_ due: WaitingDeliveries.Due) async {
        let disposition = await attempts.attempt(due)
        waiting.end(due.id, of: due.handler)
        let isHurried = hurried.remove(due.id) != nil
        resumeIfIdle()
        switch disposition {
        case .again(let time, let earliest):
            waiting.add(due.id, for: due.handler, of: due.sender, until: time, notBefore: earliest)
            if isHurried { waiting.makeDue(due.id) }
        case .later(let time, _):
            let delivery = DeliveryStore.Waiting(
                id: due.id,
                handler: due.handler,
                sender: due.sender,
                due: time,
                isTimed: true
            )
            wait(for: delivery, at: WallClock.milliseconds)
        case .delivered, .dead, .gone: break
        }
        if let state = disposition.state { signals.announce(state, ofQueued: due.id) }
        deliverDue()
    }

    /// Delivers nothing to a handler or host until ``tryWaiting(for:)``, or until the user retries one of its deliveries.
    func hold(_ handler: String) { waiting.hold(handler) }

    /// Tries some deliveries now, or as soon as the attempts in progress have ended.
    func tryWaiting(_ ids: [Int64]) {
        for id in ids {
            if waiting.isInProgress(id) { hurried.insert(id) } else { waiting.makeDue(id) }
        }
        deliverDue()
    }

    /// Immediately tries all deliveries that are waiting for a handler.
    func tryWaiting(for handler: String) {
        if handler.hasPrefix(Hosts.handlerMark) { hurried.formUnion(waiting.inProgress(of: handler)) }
        waiting.makeDue(handler)
        deliverDue()
    }

    /// Immediately tries all deliveries that are waiting for a handler whose registration is new or has changed.
    func registryChanged(from earlier: Registry, to registry: Registry) {
        for id in waiting.handlers {
            guard let handler = registry.handler(named: id), handler != earlier.handler(named: id) else { continue }
            hurried.formUnion(waiting.inProgress(of: id))
            waiting.makeDue(id)
        }
        deliverDue()
    }

    /// Tries a delivery now, with a fresh set of attempts, unless it is being tried already.
    ///
    /// - Returns: Whether the delivery exists.
    func retry(_ id: Int64) async throws(DeliveryStoreError) -> Bool {
        if waiting.isInProgress(id) { return true }
        guard let delivery = try await store.retry(id, at: WallClock.milliseconds) else { return false }
        timetable.remove(id)
        waiting.release(delivery.handler)
        waiting.add(id, for: delivery.handler, of: delivery.sender)
        deliverDue()
        return true
    }

    // MARK: Removing

    /// Forgets a delivery. Unless a handler has the URL already, none gets it after this.
    ///
    /// - Returns: Whether the delivery existed.
    func drop(_ id: Int64) async throws(DeliveryStoreError) -> Bool {
        let existed = try await store.drop(id)
        if existed { giveUp(id) }
        return existed
    }

    /// Makes a delivery that is no longer in the store reach nobody, unless a handler has it already.
    private func giveUp(_ id: Int64) {
        timetable.remove(id)
        waiting.remove(id)
        attempts.withdraw(id)
        outcomes.end(id, .failure(OpenURLError(.cancelled, "the URL \(id) was removed from the queue")))
    }

    /// Ends a delivery that has expired, unless it is in progress: the end of its attempt shows that it has expired.
    ///
    /// - Parameter problem: why the last attempt failed; nil if there was none.
    private func endExpired(_ id: Int64, _ problem: String?) async throws(DeliveryStoreError) {
        guard !waiting.isInProgress(id) else { return }
        waiting.remove(id)
        timetable.remove(id)
        let error = Delivery.expiryError(after: problem)
        let after = try await store.fail(id, error, due: nil, counts: false)
        outcomes.end(id, .failure(error))
        if after == .dead { signals.announce(.dead, ofQueued: id) }
    }

    /// Removes a handler's local notifications that have not been shown.
    ///
    /// - Parameter url: the only URL that counts; nil for all.
    func dropNotifications(of handler: String, _ url: String?) async throws(DeliveryStoreError) {
        for number in try await store.numbers(ofNotificationsOf: handler, url) { _ = try await drop(number) }
    }
}
