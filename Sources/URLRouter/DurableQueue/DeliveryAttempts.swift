internal import Logging
internal import OpenURLBus
internal import Reactor

/// Makes the attempts at deliveries, and has the store record their outcomes.
///
/// It belongs to the router's actor.
final class DeliveryAttempts {
    private let store: DeliveryStore
    private let bus: any BusNames
    private let signals: any RouterSignals
    private let log: Logger
    private let waits: AwaitedOutcomes
    /// Returns the parts that make deliveries. The last one takes all.
    private let receivers: () -> [any DeliveryReceiver]
    /// Returns for how long a handler that has crashed too often must not be started; nil if it may be started.
    private let quarantine: (_ handler: String) -> Duration?

    /// Outcomes of attempts, until the store has recorded them.
    private var outcomes: [Int64: Outcome] = [:]
    /// Deliveries whose attempt has begun, and whose outcome the store has not recorded yet.
    private var attempted: Set<Int64> = []
    /// Whether the attempts were given up, so that none begins or is recorded any longer.
    private var isAbandoned = false

    /// Result of trying to make a delivery.
    enum Result: Sendable {
        case delivered(OpenResult)
        /// It was not delivered. If a process got the URL, it may have acted on it.
        case failed(OpenURLError, wasHandedOver: Bool)
        /// It failed for good, and is not tried again.
        case refused(OpenURLError)
        /// This was no attempt, because nothing is known yet. It is tried again after this time.
        case postponed(OpenURLError, Duration)
    }

    private enum Outcome {
        case delivered(OpenResult)
        /// It failed. If there is no time, there is no next attempt. Nothing makes the next attempt due before the earliest
        /// time. If the attempt does not count, the number of attempts stays as it is.
        case failed(
            OpenURLError,
            next: ContinuousClock.Instant?,
            notBefore: ContinuousClock.Instant? = nil,
            counts: Bool
        )
    }

    /// State of a delivery after an attempt.
    enum Disposition {
        case delivered
        /// It waits until its next attempt, and nothing makes that due before the earliest time.
        case again(until: ContinuousClock.Instant, notBefore: ContinuousClock.Instant? = nil)
        /// It is repeated, and waits for its next time.
        case later(due: Int64, wasDelivered: Bool)
        case dead
        /// It is no longer in the store, or the attempts were given up.
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
        _ bus: any BusNames,
        _ signals: any RouterSignals,
        _ waits: AwaitedOutcomes,
        log: Logger,
        receivers: @escaping () -> [any DeliveryReceiver],
        quarantine: @escaping (String) -> Duration?
    ) {
        self.store = store
        self.bus = bus
        self.signals = signals
        self.waits = waits
        self.log = log
        self.receivers = receivers
        self.quarantine = quarantine
    }

    /// Tries one delivery, and stores its outcome.
    func attempt(_ due: WaitingDeliveries.Due) async -> Disposition {
        let id = due.id
        do throws(DeliveryStoreError) {
            if outcomes[id] == nil {
                guard let (delivery, attempt) = try await store.begin(id) else { return .gone }
                // The bus may be gone by now.
                guard !isAbandoned else {
                    try await store.takeBack(id)
                    return .gone
                }
                attempted.insert(id)
                signals.announce(.delivering, ofQueued: id)
                outcomes[id] = await outcome(of: delivery, due, attempt)
            }
            // Once the attempts are given up, the store may belong to the next router.
            guard !isAbandoned else { return .gone }
            // Keep the outcome until the store has it, so that a full disk does not lead to a second delivery.
            guard let outcome = outcomes[id] else { return .gone }
            switch outcome {
            case .delivered(let result):
                let next = try await store.succeed(id, result, at: WallClock.milliseconds)
                forget(id)
                waits.end(id, .success(result.withoutDescriptors))
                return next.map { .later(due: $0, wasDelivered: true) } ?? .delivered
            case .failed(let error, let next, let earliest, let counts):
                let time = next.map {
                    WallClock.milliseconds + Int64(ContinuousClock.now.duration(to: $0) / .milliseconds(1))
                }
                let after = try await store.fail(id, error, due: time, counts: counts)
                forget(id)
                if next == nil { waits.end(id, .failure(error)) }
                switch after {
                case .gone: return .gone
                case .dead: return .dead
                case .waiting(let due):
                    guard let next else { return .later(due: due, wasDelivered: false) }
                    return .again(until: next, notBefore: earliest)
                }
            }
        } catch {
            // If the file exists, the delivery is still in it.
            log.error("queued URL \(id): \(error)")
            return .again(until: .now + DeliveryScheduler.pause)
        }
    }

    /// Forgets an outcome that the store now knows.
    private func forget(_ id: Int64) {
        outcomes[id] = nil
        attempted.remove(id)
    }

    private func outcome(of delivery: Delivery, _ due: WaitingDeliveries.Due, _ attempt: Int) async -> Outcome? {
        if let expires = delivery.expires, expires <= WallClock.milliseconds {
            return .failed(delivery.expiryError, next: nil, counts: false)
        }
        let error: OpenURLError
        let wasHandedOver: Bool
        switch await receivers().first(where: { $0.takes(delivery) })?.attempt(delivery, due.id, attempt) {
        case .delivered(let result): return .delivered(result)
        case .failed(let cause, let isHandedOver): (error, wasHandedOver) = (cause, isHandedOver)
        case .refused(let error): return bus.isOpen ? .failed(error, next: nil, counts: true) : nil
        case .postponed(let error, let delay):
            guard bus.isOpen else { return nil }
            if let expires = delivery.expires, expires <= WallClock.milliseconds {
                return .failed(Delivery.expiryError(after: error.message), next: nil, counts: false)
            }
            return .failed(error, next: ContinuousClock.now + delay, counts: false)
        case nil: return nil
        }
        // There is no outcome if the attempts were given up, or will be because the bus is gone.
        guard bus.isOpen, !isAbandoned else { return nil }
        let now = ContinuousClock.now
        // While a handler is in quarantine, it is not started, so this was no attempt.
        let quarantine = error.code == .launchFailed ? quarantine(delivery.handler) : nil
        // Something has made the delivery due before its time, such as another registration of its handler. Unless a process
        // got the URL, such an attempt does not count, because many registrations could otherwise use up all attempts within
        // a second.
        let isEarly = due.ownTime > now && !wasHandedOver && RetryDelay.isTriedAgain(error.code)
        let next: ContinuousClock.Instant? =
            if let quarantine {
                // A new program ends the quarantine earlier.
                now + min(quarantine, WaitingDeliveries.longestWait)
            } else if isEarly {
                due.ownTime
            } else if error.code == .timedOut && wasHandedOver {
                // The handler took too long, but may still have acted on the URL.
                nil
            } else {
                RetryDelay.after(attempt, error.code).map { now + $0 }
            }
        let wait = next.map { "in \(now.duration(to: $0).inWords)" } ?? "never"
        let urls = ([delivery.url] + delivery.options.fallback).map { RedactedURL($0).secrets }
        log.warning(
            "a queued URL was not delivered: \(urls.redacting(error.text))",
            metadata: [
                "id": "\(due.id)", "request": "\(delivery.options.requestID?.rawValue ?? "\(due.id)")",
                "attempt": "\(attempt)", "next": "\(wait)",
            ]
        )
        return .failed(
            error,
            next: next,
            // A handler that changes its own manifest and exits would otherwise be started again and again.
            notBefore: isEarly ? now + RetryDelay.leastBetweenEarlyAttempts : nil,
            counts: quarantine == nil && !isEarly
        )
    }

    /// Withdraws the attempt at a delivery that is no longer in the store, unless a handler has the delivery already.
    func withdraw(_ id: Int64) {
        for receiver in receivers() { receiver.withdraw(id) }
    }

    // MARK: Giving up

    /// Takes back the attempts in progress. They do not count, and no other begins. A delivery that was made but could not be
    /// recorded is recorded now.
    ///
    /// A later call takes those that an earlier one has left.
    func abandon() async {
        isAbandoned = true
        while let id = attempted.popFirst() { await abandon(id) }
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
}
