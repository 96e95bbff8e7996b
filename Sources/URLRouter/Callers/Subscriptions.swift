internal import DBus
internal import OpenURLBus

/// Connections that get the router's signals.
///
/// A broadcast would reach every program, even a sandbox whose filter lets it talk to the router. So each signal is
/// sent to each subscriber. This belongs to the router's actor.
final class Subscriptions {
    private let bus: any BusNames
    private let callers: Callers
    private let tasks: RouterTasks
    private let changed: ([BusName]) -> Void
    private let left: (BusName) -> Void
    private var subscribers: [BusName: Subscriber] = [:]
    private var shares: Shares<String>

    private struct Subscriber {
        let account: String
        let watch: ConnectionWatch
    }

    /// - Parameters:
    ///   - limit: the maximum number of subscribers. One application gets at most half of what is left.
    ///   - changed: called with all subscribers whenever they change.
    ///   - left: called with each subscriber whose connection has ended.
    init(
        _ bus: any BusNames,
        _ callers: Callers,
        _ tasks: RouterTasks,
        limit: Int,
        changed: @escaping ([BusName]) -> Void = { _ in },
        left: @escaping (BusName) -> Void = { _ in }
    ) {
        self.bus = bus
        self.callers = callers
        self.tasks = tasks
        self.changed = changed
        self.left = left
        shares = Shares(limit: limit)
    }

    /// Adds a caller. Once this has returned, the end of the caller's connection will be noticed. Without a bus,
    /// nothing happens.
    ///
    /// - Throws: `limitsExceeded`.
    func add(_ caller: BusName?) async throws(OpenURLError) {
        guard let name = caller, subscribers[name] == nil else { return }
        let account = await callers.caller(name).account
        guard subscribers[name] == nil else { return }
        guard shares.refusal(of: account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(shares[account]) connections of \(account) already get the router's signals; close one first"
            )
        }
        shares.add(1, to: account)
        let watch = ConnectionWatch(on: bus) { [unowned self] in
            remove(name)
            left(name)
        }
        subscribers[name] = Subscriber(account: account, watch: watch)
        changed(Array(subscribers.keys))
        do throws(OpenURLError) {
            try await watch.begin(name, tasks)
        } catch {
            remove(name)
            throw error
        }
    }

    func remove(_ caller: BusName?) {
        guard let name = caller, let subscriber = subscribers.removeValue(forKey: name) else { return }
        subscriber.watch.end()
        shares.remove(1, from: subscriber.account)
        changed(Array(subscribers.keys))
    }
}
