internal import DBus
internal import OpenURLBus

/// The connections that get signals of the router.
///
/// The bus gives a broadcast to every program, also to a sandbox whose filter lets it talk to the router. Each signal is
/// therefore sent to each subscriber. The object belongs to the router's actor.
final class Subscriptions {
    private let bus: any HandlerBus
    private let changed: ([BusName]) -> Void
    private var subscribers: [BusName: Subscriber] = [:]
    private var shares: Shares<String>

    private struct Subscriber {
        let account: String
        /// The watch that tells the end of the connection; nil until the bus has it.
        var watch: NameWatchID?
    }

    /// - Parameters:
    ///   - limit: the number of subscribers. One application gets at most half of what is left.
    ///   - changed: gets the subscribers whenever there are others than before.
    init(_ bus: any HandlerBus, limit: Int, changed: @escaping ([BusName]) -> Void = { _ in }) {
        self.bus = bus
        self.changed = changed
        shares = Shares(limit: limit)
    }

    func contains(_ name: BusName) -> Bool { subscribers[name] != nil }

    /// Adds a caller; returns when its end will be noticed.
    ///
    /// - Parameter left: tells, on the event loop, that the connection has ended.
    /// - Throws: `limitsExceeded`.
    func add(
        _ name: BusName,
        _ account: String,
        left: @escaping @Sendable (BusName) -> Void
    ) async throws(OpenURLError) {
        guard subscribers[name] == nil else { return }
        guard shares.refusal(of: account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(shares[account]) connections of \(account) get the router's signals already"
            )
        }
        shares.add(1, to: account)
        subscribers[name] = Subscriber(account: account)
        changed(Array(subscribers.keys))
        do throws(CallError) {
            let watch = try await bus.watchOwner(of: name) { _, new in if new == nil { left(name) } }
            guard subscribers[name] != nil else { return bus.unwatchOwner(watch) }
            subscribers[name]?.watch = watch
            // The connection may have ended before the watch began.
            if try await bus.owner(of: name) == nil { remove(name) }
        } catch {
            remove(name)
            throw OpenURLError(.limitsExceeded, "the bus does not tell the end of a subscription: \(error)")
        }
    }

    func remove(_ name: BusName) {
        guard let subscriber = subscribers.removeValue(forKey: name) else { return }
        if let watch = subscriber.watch { bus.unwatchOwner(watch) }
        shares.remove(1, from: subscriber.account)
        changed(Array(subscribers.keys))
    }
}

extension URLRouter {
    func subscribe(_ caller: BusName?) async throws(OpenURLError) {
        guard let caller else { return }
        let account = await callers.caller(caller).account
        try await subscriptions.add(caller, account) { [unowned self] name in
            assumeIsolated { $0.subscriptions.remove(name) }
        }
    }

    func unsubscribe(_ caller: BusName?) {
        if let caller { subscriptions.remove(caller) }
    }

    /// Tells the subscribers that schemes go to other handlers than before.
    func announceChanges(of schemes: [String]) {
        if !schemes.isEmpty { bus.announce(changed: schemes) }
    }
}
