internal import DBus
internal import OpenURLBus
internal import Synchronization

/// The connections that have owned the router's name, one after the other.
///
/// What a router says of a sender is found out; what anybody else says of itself is not. A router that has given its name
/// back still hands over what it has, so it stays trusted: the bus gives a unique name to one connection only.
final class Routers: Sendable {
    private let names = Mutex<Set<BusName>>([])

    /// Learns who the router is, from now on and for as long as the connection lives.
    func watch(on connection: Connection) async throws(CallError) {
        _ = try await connection.watchName(RouterService.name) { _, new in self.add(new) }
        add(try await connection.owner(of: RouterService.name))
    }

    private func add(_ name: BusName?) {
        if let name { names.withLock { _ = $0.insert(name) } }
    }

    /// Whether it is a router that calls.
    func contains(_ caller: BusName?) -> Bool {
        guard let caller else { return false }
        return names.withLock { $0.contains(caller) }
    }

    /// The context without what only a router may say.
    func verified(_ context: OpenContext, from caller: BusName?) -> OpenContext {
        if contains(caller) { return context }
        var context = context
        context.sourceApplication = nil
        context.hops = 0
        context.accepted = nil
        context.source = OpenContext.Source()
        context.source.uniqueName = caller?.rawValue
        return context
    }
}
