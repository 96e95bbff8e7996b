internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor

/// Deliveries to and from other hosts.
extension DeliveryScheduler {
    /// Returns the name of this queue among those of all hosts.
    func identity() async throws(OpenURLError) -> String {
        try await storing { () async throws(DeliveryStoreError) in try await store.identity() }
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

    /// Returns how many URLs wait for each host.
    func waitingForHosts() async throws(RemoteError) -> [String: Int] {
        try await asking { () async throws(DeliveryStoreError) in
            try await store.counts(ofHandlersWith: Hosts.handlerMark)
        }
    }

    /// Sets the timer for a delivery that expires at this time, unless another one expires earlier.
    func planExpiry(at time: Int64) {
        guard time < nextExpiry ?? .max else { return }
        nextExpiry = time
        expiryTimer.start(at: .now + .milliseconds(max(time - WallClock.milliseconds, 1))) {
            self.tasks.start { await self.endExpired() }
        }
    }

    /// Ends the deliveries that have expired, also those to a host that cannot be reached, and sets the timer for the one that
    /// expires next. If one is in progress, the end of its attempt shows that it has expired.
    func endExpired() async {
        let now = WallClock.milliseconds
        nextExpiry = nil
        do throws(DeliveryStoreError) {
            for (id, problem) in try await store.expired(at: now) where !waiting.isInProgress(id) {
                waiting.remove(id)
                timetable.remove(id)
                let error = Delivery.expiryError(after: problem)
                let after = try await store.fail(id, error, due: nil, counts: false)
                waiters.end(id, .failure(error))
                if after == .dead { bus.announce(.dead, ofQueued: id) }
            }
            // Others may have expired meanwhile.
            if let next = try await store.nextExpiry(after: now), !isEnding { planExpiry(at: next) }
        } catch {
            log.error("queued URLs that have expired: \(error)")
        }
    }

    /// Returns what is known about a request from another host.
    ///
    /// - Returns: The number of its delivery, and its outcome, if there is one; nil if the request is not remembered.
    func received(
        _ key: RequestKey
    ) async throws(RemoteError) -> (id: Int64, outcome: Result<OpenResult, OpenURLError>?)? {
        try await asking { () async throws(DeliveryStoreError) in try await store.received(key) }
    }

    /// Returns the outcome of a request from another host, and waits for it if necessary.
    ///
    /// - Parameter key: a request that was accepted.
    /// - Returns: Nil if nobody knows the outcome yet: after `HostsInterface.outcomeTime`, when this router exits, or if too
    ///   many requests of the host are waiting already.
    /// - Throws: `OpenURLError` for an outcome, and another error if the queue cannot be read.
    func outcome(of key: RequestKey, _ id: Int64) async throws -> OpenResult? {
        do {
            return try await waiters.waiting(for: id, key.origin) { waiter in
                // The outcome may arrive while the store is being asked.
                if let outcome = try await received(key)?.outcome { return try outcome.get() }
                if isEnding { return nil }
                let timer = RestartableTimer(on: loop)
                timer.start(at: .now + HostsInterface.outcomeTime) { waiter.giveUp(OpenURLError(.timedOut, "")) }
                defer { timer.cancel() }
                do throws(OpenURLError) {
                    return try await waiter.value()
                } catch {
                    guard waiter.hasOutcome else { return nil }
                    throw error
                }
            }
        } catch is OutcomeWaiters.Full {
            return nil
        }
    }

    private func storing<Result: Sendable>(
        _ body: () async throws(DeliveryStoreError) -> Result
    ) async throws(OpenURLError) -> Result {
        do throws(DeliveryStoreError) {
            return try await body()
        } catch {
            throw OpenURLError(.notQueued, error.description)
        }
    }
}
