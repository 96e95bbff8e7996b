internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// Stores URLs that are to be delivered later, and tries each delivery when its time has come.
///
/// It belongs to the router's actor.
final class DeliveryScheduler {
    let store: DeliveryStore
    let bus: any BusNames & RouterSignals
    let log: Logger
    let tasks: RouterTasks
    /// Returns the parts that make deliveries. The last one takes all.
    private let receivers: () -> [any DeliveryReceiver]
    /// Returns for how long a handler that has crashed too often must not be started; nil if it may be started.
    private let quarantine: (_ handler: String) -> Duration?

    private var state = State.new
    var waiting: WaitingDeliveries
    /// URLs that have arrived but have not been handed to the store yet.
    let arrivals = ArrivalOrder()
    /// Number of deliveries that are being stored.
    private var storing = 0
    private let timer: RestartableTimer
    let expiryTimer: RestartableTimer
    /// When the timer looks for deliveries that have expired, in milliseconds since 1970; nil if it is not set.
    var nextExpiry: Int64?
    /// Deliveries that wait for the times that their senders have set.
    private(set) lazy var timetable = DeliveryTimetable(
        on: loop,
        log: log,
        timeHasCome: { [unowned self] in
            for delivery in $0 { waiting.add(delivery.id, for: delivery.handler, of: delivery.sender) }
            deliverDue()
        },
        clockHasChanged: { [unowned self] in tasks.start { await self.run() } }
    )
    let loop: EventLoop
    private let limits: RouterLimits
    let waiters: OutcomeWaiters
    /// Outcomes of attempts, until the store has recorded them.
    private var outcomes: [Int64: Outcome] = [:]
    /// Deliveries in progress that are tried again at once if this attempt does not end them, because something has changed
    /// since it began.
    var hurried: Set<Int64> = []
    /// Deliveries whose attempt has begun, and whose outcome the store has not recorded yet.
    private var attempted: Set<Int64> = []
    private var idleWaiter: CheckedContinuation<Void, Never>?

    /// How long to wait before trying the store again when it cannot be used.
    private static let pause = Duration.seconds(60)

    /// Result of trying to deliver a URL.
    enum AttemptResult: Sendable {
        case delivered(OpenResult)
        /// It was not delivered. If a process got the URL, it may have acted on it.
        case failed(OpenURLError, wasHandedOver: Bool)
        /// It failed for good, and is not tried again.
        case refused(OpenURLError)
        /// This was no attempt, because nothing is known yet. It is tried again after this time.
        case postponed(OpenURLError, Duration)
    }

    private enum State {
        /// This router does not own its name yet.
        case new
        case running
        /// No new attempt begins.
        case stopping
        /// Nothing is stored any longer, because the next router may have read the store already.
        case closed
    }

    private enum Outcome {
        case delivered(OpenResult)
        /// It failed. If there is no delay, there is no next attempt. If the attempt does not count, the number of
        /// attempts stays as it is.
        case failed(OpenURLError, delay: Duration?, counts: Bool, longest: Duration = WaitingDeliveries.longestWait)
    }

    /// State of a delivery after an attempt.
    private enum Disposition {
        case delivered
        case again(Duration, longest: Duration = WaitingDeliveries.longestWait)
        /// It is repeated, and waits for its next time.
        case later(due: Int64, wasDelivered: Bool)
        case dead
        /// It is no longer in the store.
        case gone

        var state: QueuedURL.State? {
            switch self {
            case .delivered, .later(_, wasDelivered: true): .delivered
            case .again, .later(_, wasDelivered: false): .waiting
            case .dead: .dead
            case .gone: nil
            }
        }
    }

    init(
        _ store: DeliveryStore,
        bus: any BusNames & RouterSignals,
        loop: EventLoop,
        limits: RouterLimits,
        log: Logger,
        tasks: RouterTasks,
        receivers: @escaping () -> [any DeliveryReceiver],
        quarantine: @escaping (String) -> Duration?
    ) {
        self.store = store
        self.bus = bus
        self.log = log
        self.tasks = tasks
        self.receivers = receivers
        self.quarantine = quarantine
        self.loop = loop
        self.limits = limits
        waiting = WaitingDeliveries(limits)
        waiters = OutcomeWaiters(limit: limits.replyWaiters)
        timer = RestartableTimer(on: loop)
        expiryTimer = RestartableTimer(on: loop)
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
                await endExpired()
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

    /// Prevents new attempts, and returns when the deliveries in progress have ended and every accepted URL is stored.
    func stop() async {
        guard state == .new || state == .running else { return }
        state = .stopping
        timer.cancel()
        timetable.stop()
        expiryTimer.cancel()
        waiters.giveUpAll(Self.ending)
        await idle()
        state = .closed
        await idle()
        await store.giveBack()
    }

    /// Stops work immediately, because the bus is gone. Attempts in progress do not count.
    func abandon() async {
        guard state != .closed else { return }
        state = .closed
        timer.cancel()
        timetable.stop()
        expiryTimer.cancel()
        waiters.giveUpAll(Self.ending)
        for id in attempted { await abandon(id) }
        await store.giveBack()
    }

    private func abandon(_ id: Int64) async {
        do throws(DeliveryStoreError) {
            // The store may have failed after the handler took the URL.
            if case .delivered(let result) = outcomes[id] {
                try await store.succeed(id, result, at: WallClock.milliseconds)
            } else {
                try await store.takeBack(id)
            }
        } catch {
            log.error("queued URL \(id): \(error)")
        }
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
        if let lifetime = delivery.options.lifetime { planExpiry(at: (due ?? now) + lifetime.milliseconds) }
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

    func deliverDue() {
        guard state == .running else { return }
        timer.cancel()
        while true {
            switch waiting.next() {
            case .due(let id, let handler, let sender):
                tasks.start {
                    let disposition = await self.attempt(id)
                    self.waiting.end(id, of: handler)
                    let isHurried = self.hurried.remove(id) != nil
                    self.resumeIfIdle()
                    switch disposition {
                    case .again(let time, let longest):
                        let wait = isHurried ? .zero : time
                        self.waiting.add(id, for: handler, of: sender, in: wait, longest: longest)
                    case .later(let due, _):
                        let delivery = DeliveryStore.Waiting(
                            id: id,
                            handler: handler,
                            sender: sender,
                            due: due,
                            isTimed: true
                        )
                        self.wait(for: delivery, at: WallClock.milliseconds)
                    case .delivered, .dead, .gone: break
                    }
                    if let state = disposition.state { self.bus.announce(state, ofQueued: id) }
                    self.deliverDue()
                }
            case .notBefore(let time):
                return timer.start(at: time) { self.deliverDue() }
            case .none:
                return
            }
        }
    }

    /// Tries one delivery, and stores its outcome.
    private func attempt(_ id: Int64) async -> Disposition {
        do throws(DeliveryStoreError) {
            if outcomes[id] == nil {
                guard let (delivery, attempt) = try await store.begin(id) else { return .gone }
                // The bus may be gone by now.
                guard state != .closed else {
                    try await store.takeBack(id)
                    return .gone
                }
                attempted.insert(id)
                bus.announce(.delivering, ofQueued: id)
                outcomes[id] = await outcome(of: delivery, id, attempt)
            }
            // Keep the outcome until the store has it, so that a full disk does not lead to a second delivery.
            guard let outcome = outcomes[id] else { return .gone }
            switch outcome {
            case .delivered(let result):
                let next = try await store.succeed(id, result, at: WallClock.milliseconds)
                forget(id)
                waiters.end(id, .success(result.withoutDescriptors))
                return next.map { .later(due: $0, wasDelivered: true) } ?? .delivered
            case .failed(let error, let delay, let counts, let longest):
                let due = delay.map { WallClock.milliseconds + Int64($0 / .milliseconds(1)) }
                let after = try await store.fail(id, error, due: due, counts: counts)
                forget(id)
                if delay == nil { waiters.end(id, .failure(error)) }
                switch after {
                case .gone: return .gone
                case .dead: return .dead
                case .waiting(let due):
                    return delay.map { .again($0, longest: longest) } ?? .later(due: due, wasDelivered: false)
                }
            }
        } catch {
            // If the file exists, the delivery is still in it.
            log.error("queued URL \(id): \(error)")
            return .again(Self.pause)
        }
    }

    /// Forgets an outcome that the store now knows.
    private func forget(_ id: Int64) {
        outcomes[id] = nil
        attempted.remove(id)
    }

    private func outcome(of delivery: Delivery, _ id: Int64, _ attempt: Int) async -> Outcome? {
        if let expires = delivery.expires, expires <= WallClock.milliseconds {
            return .failed(delivery.expiryError, delay: nil, counts: false)
        }
        let error: OpenURLError
        let wasHandedOver: Bool
        switch await receivers().first(where: { $0.takes(delivery) })?.attempt(delivery, id, attempt) {
        case .delivered(let result): return .delivered(result)
        case .failed(let cause, let isHandedOver): (error, wasHandedOver) = (cause, isHandedOver)
        case .refused(let error): return bus.isOpen ? .failed(error, delay: nil, counts: true) : nil
        case .postponed(let error, let delay):
            guard bus.isOpen else { return nil }
            if let expires = delivery.expires, expires <= WallClock.milliseconds {
                return .failed(Delivery.expiryError(after: error.message), delay: nil, counts: false)
            }
            return .failed(error, delay: delay, counts: false, longest: delay)
        case nil: return nil
        }
        // There is no outcome, and `abandon` will be called next.
        guard bus.isOpen else { return nil }
        // While a handler is in quarantine, it is not started, so this was no attempt.
        let quarantine = error.code == .launchFailed ? quarantine(delivery.handler) : nil
        // The handler took too long, but may still have acted on the URL.
        let isLate = error.code == .timedOut && wasHandedOver
        let delay = quarantine ?? (isLate ? nil : RetryDelay.after(attempt, error.code))
        let next = delay.map { "in \($0.inWords)" } ?? "never"
        let urls = ([delivery.url] + delivery.options.fallback).map { RedactedURL($0).secrets }
        log.warning(
            "a queued URL was not delivered: \(urls.redacting(error.text))",
            metadata: [
                "id": "\(id)", "request": "\(delivery.options.requestID?.rawValue ?? "\(id)")",
                "attempt": "\(attempt)", "next": "\(next)",
            ]
        )
        return .failed(error, delay: delay, counts: quarantine == nil)
    }

    // MARK: The user's requests

    // If a caller is limited to an account, the queue reveals nothing to it about other accounts, not even that a
    // number exists.

    /// Returns a page of the stored URLs that follow a number, or the first page if the text is empty.
    func list(after text: String, of account: String?) async throws(RemoteError) -> [QueuedURL] {
        guard let id = text.isEmpty ? .min : Int64(text) else { throw .noSuchDelivery(text) }
        var urls = try await asking { () async throws(DeliveryStoreError) in
            try await store.list(after: id, of: account, limit: QueueInterface.pageSize)
        }
        for index in urls.indices where Int64(urls[index].id).map(waiting.isInProgress) == true {
            urls[index].state = .delivering
            urls[index].next = nil
        }
        return urls
    }

    /// Tries a delivery now, with a fresh set of attempts.
    func retry(_ text: String, of account: String?) async throws(RemoteError) {
        let id = try await number(text, of: account)
        // It is being tried already.
        if waiting.isInProgress(id) { return }
        let delivery = try await asking { () async throws(DeliveryStoreError) in
            try await store.retry(id, at: WallClock.milliseconds)
        }
        guard let delivery else { throw .noSuchDelivery(text) }
        timetable.remove(id)
        waiting.release(delivery.handler)
        waiting.add(id, for: delivery.handler, of: delivery.sender)
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

    /// Forgets a delivery. Unless a handler has the URL already, none gets it after this.
    func drop(_ text: String, of account: String?) async throws(RemoteError) {
        let id = try await number(text, of: account)
        guard try await drop(id) else { throw .noSuchDelivery(text) }
    }

    /// - Returns: Whether the delivery existed.
    private func drop(_ id: Int64) async throws(RemoteError) -> Bool {
        let existed = try await asking { () async throws(DeliveryStoreError) in try await store.drop(id) }
        if existed { giveUp(id) }
        return existed
    }

    /// Makes a delivery that is no longer in the store reach nobody, unless a handler has it already.
    private func giveUp(_ id: Int64) {
        timetable.remove(id)
        waiting.remove(id)
        for receiver in receivers() { receiver.withdraw(id) }
        waiters.end(id, .failure(OpenURLError(.cancelled, "the URL \(id) was removed from the queue")))
    }

    // MARK: Local notifications

    /// Returns the local notifications that are still to come, the soonest first.
    ///
    /// - Parameter handler: the only handler whose notifications count; nil for all.
    func notifications(of handler: String?) async throws(RemoteError) -> [LocalNotification] {
        try await asking { () async throws(DeliveryStoreError) in
            try await store.notifications(of: handler, limit: NotificationsInterface.notificationsPerList)
        }
    }

    /// Removes a handler's local notifications that have not been shown.
    ///
    /// - Parameter url: the only URL that counts; nil for all.
    func dropNotifications(of handler: String, _ url: String?) async throws(RemoteError) {
        let numbers = try await asking { () async throws(DeliveryStoreError) in
            try await store.numbers(ofNotificationsOf: handler, url)
        }
        for number in numbers { _ = try await drop(number) }
    }

    /// Returns the outcome of a delivery, and waits for it if necessary.
    ///
    /// - Parameters:
    ///   - account: The only account whose deliveries count; nil for all.
    ///   - caller: The connection that waits; nil if there is no bus.
    ///   - waiter: The application towards which the wait counts.
    func outcome(
        of number: UInt64,
        _ account: String?,
        for caller: BusName?,
        countedTo waiter: String
    ) async throws -> OpenResult {
        let id = try await self.number("\(number)", of: account)
        do {
            return try await waiters.waiting(for: id, waiter) { waiter in
                try await outcome(of: id, for: caller, waiter)
            }
        } catch let full as OutcomeWaiters.Full {
            throw full.error
        }
    }

    private func outcome(
        of id: Int64,
        for caller: BusName?,
        _ waiter: OutcomeWaiters.Waiter
    ) async throws -> OpenResult {
        // The outcome may arrive while the store is being asked.
        let stored = try await asking { () async throws(DeliveryStoreError) in
            try await store.outcome(of: id, at: WallClock.milliseconds)
        }
        switch stored {
        case nil: throw RemoteError.noSuchDelivery("\(id)")
        case .delivered(let result): return result
        case .dead(let error): throw error
        case .some(.none): break
        }
        if isEnding { throw Self.ending }
        let watch = ConnectionWatch(on: bus) {
            waiter.giveUp(OpenURLError(.cancelled, "the caller has left the bus"))
        }
        defer { watch.end() }
        if let caller { try await watch.begin(caller, tasks) }
        let timer = RestartableTimer(on: loop)
        timer.start(at: .now + QueueInterface.keptTime) {
            waiter.giveUp(OpenURLError(.timedOut, "the URL \(id) is still in the queue"))
        }
        defer { timer.cancel() }
        return try await waiter.value()
    }

    /// Whether the router is exiting, and no outcome will arrive any longer.
    var isEnding: Bool { state == .stopping || state == .closed }

    /// Number of calls that wait for outcomes.
    var waitsForReplies: Int { waiters.count }

    private static let ending = OpenURLError(.timedOut, "the router is exiting; the URL stays in the queue")

    /// Returns the number of a delivery that belongs to an account.
    private func number(_ text: String, of account: String?) async throws(RemoteError) -> Int64 {
        guard let id = Int64(text) else { throw .noSuchDelivery(text) }
        guard let account else { return id }
        let owner = try await asking { () async throws(DeliveryStoreError) in try await store.caller(of: id) }
        guard owner == account else { throw .noSuchDelivery(text) }
        return id
    }

    func asking<Result: Sendable>(
        _ body: () async throws(DeliveryStoreError) -> Result
    ) async throws(RemoteError) -> Result {
        do throws(DeliveryStoreError) {
            return try await body()
        } catch {
            throw RemoteError(.failed, error.description)
        }
    }
}

extension RemoteError {
    static func noSuchDelivery(_ text: String) -> RemoteError {
        RemoteError(.invalidArguments, "there is no URL '\(text)' in the queue")
    }
}
