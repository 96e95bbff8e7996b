internal import DBus
internal import OpenURLBus

/// Watches a connection on behalf of something that ends with it.
///
/// This belongs to the router's actor.
final class ConnectionWatch {
    private let bus: any BusNames
    private var watch: NameWatchID?
    /// Nil once it is no longer needed.
    private var left: (() -> Void)?

    /// - Parameter left: called once when the connection has ended.
    init(on bus: any BusNames, left: @escaping () -> Void) {
        self.bus = bus
        self.left = left
    }

    /// Begins to watch. Once this has returned, the end of the connection will be noticed.
    ///
    /// - Throws: `limitsExceeded` if the bus does not watch any more connections.
    func begin(_ name: BusName, _ tasks: RouterTasks) async throws(OpenURLError) {
        let ended = tasks.onLoop { self.connectionEnded() }
        do throws(CallError) {
            let watch = try await bus.watchOwner(of: name) { _, new in if new == nil { ended() } }
            guard left != nil else { return bus.unwatchOwner(watch) }
            self.watch = watch
            // The connection may have ended before the watch began.
            if try await bus.owner(of: name) == nil { connectionEnded() }
        } catch {
            throw OpenURLError(.limitsExceeded, "the bus cannot report when the program exits: \(error)")
        }
    }

    func end() {
        left = nil
        if let watch { bus.unwatchOwner(watch) }
        watch = nil
    }

    private func connectionEnded() {
        let left = left
        self.left = nil
        left?()
    }
}
