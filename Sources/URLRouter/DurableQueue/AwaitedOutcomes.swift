internal import DBus
internal import OpenURLBus
internal import Reactor

/// Lets callers wait for the outcomes of deliveries.
///
/// It belongs to the router's actor.
final class AwaitedOutcomes {
    private let store: DeliveryStore
    private let bus: any BusNames
    private let loop: EventLoop
    private let tasks: RouterTasks
    private let waiters: OutcomeWaiters
    /// Whether the router is exiting, and no outcome will arrive any longer.
    private var isEnding = false

    init(_ store: DeliveryStore, _ bus: any BusNames, _ loop: EventLoop, _ tasks: RouterTasks, limit: Int) {
        self.store = store
        self.bus = bus
        self.loop = loop
        self.tasks = tasks
        waiters = OutcomeWaiters(limit: limit)
    }

    /// Number of calls that wait for outcomes.
    var count: Int { waiters.count }

    /// Ends the waits for a delivery, because its outcome has arrived.
    func end(_ id: Int64, _ outcome: Result<OpenResult, OpenURLError>) { waiters.end(id, outcome) }

    /// Ends all waits, because the router is exiting.
    func stop() {
        isEnding = true
        waiters.giveUpAll(Self.ending)
    }

    private static let ending = OpenURLError(.timedOut, "the router is exiting; the URL stays in the queue")

    /// Returns the outcome of a delivery, and waits for it if necessary.
    ///
    /// - Parameters:
    ///   - caller: The connection that waits; nil if there is no bus.
    ///   - account: The application towards which the wait counts.
    /// - Throws: `OpenURLError` for an outcome, and for a wait that ends without one; `RemoteError` if there is no such
    ///   delivery, or if the queue cannot be read.
    func outcome(of id: Int64, for caller: BusName?, countedTo account: String) async throws -> OpenResult {
        do {
            return try await waiters.waiting(for: id, account) { waiter in
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
}
