internal import DBus
internal import OpenURLBus
internal import Reactor

/// The unique names of all connections that have owned the router's bus name.
///
/// A router determines the facts about a sender itself, so its context is trusted. Any other caller's context contains
/// only claims. A router that has released the name still delivers its remaining URLs, so it stays trusted. This is
/// safe because the bus never gives a unique name to a second connection.
final class Routers: Sendable {
    private let names: Lock<Set<BusName>>

    /// Trusts the router that has started this process, if there is one, and the router at the other end of a lane. No
    /// bus gives a sender the router's name as its unique name.
    init(_ launcher: BusName? = nil) {
        names = Lock([RouterService.name])
        if let launcher, launcher.isUnique { add(launcher) }
    }

    /// Adds the current owner of the router's name, and every later owner as long as the connection exists.
    ///
    /// - Parameter appeared: called on the event loop when a new router has the name.
    func watch(on connection: Connection, _ appeared: @escaping @Sendable () -> Void) async throws(CallError) {
        _ = try await connection.watchName(RouterService.name) { _, new in
            self.add(new)
            if new != nil { appeared() }
        }
        add(try await connection.owner(of: RouterService.name))
    }

    private func add(_ name: BusName?) {
        if let name { names.withLock { _ = $0.insert(name) } }
    }

    /// Returns whether the caller is a router.
    func contains(_ caller: BusName?) -> Bool {
        guard let caller else { return false }
        return names.withLock { $0.contains(caller) }
    }

    /// Returns the context unchanged if the caller is a router, and otherwise only with the facts that any program may
    /// state.
    func verified(_ told: OpenContext, from caller: BusName?) -> OpenContext {
        if contains(caller) { return told }
        var context = OpenContext()
        context.annotation = told.annotation
        context.activationToken = FocusToken.checked(told.activationToken)
        context.desktopStartupID = FocusToken.checked(told.desktopStartupID)
        context.traceParent = told.traceParent
        context.source.uniqueName = caller?.rawValue
        return context
    }
}
