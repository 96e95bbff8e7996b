internal import DBus

/// Names on the bus, and the connections that own them.
protocol BusNames: Sendable {
    /// Whether the connection to the bus is still open. Use this on the router's event loop.
    var isOpen: Bool { get }
    /// The newest connection to the bus; nil if it is unknown. Use this on the router's event loop.
    var newestConnection: ConnectionNumber? { get }
    /// Returns all names that currently have an owner.
    func names() async throws(CallError) -> [BusName]
    /// Returns the connection that currently owns a handler's name.
    func owner(of id: BusName) async throws(CallError) -> BusName?
    /// Returns the process that a connection belongs to.
    func credentials(of name: BusName) async throws(CallError) -> Credentials
    /// Calls `handler` on the router's event loop each time the owner of a handler's name changes.
    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID
    /// Ends a watch. Call this on the router's event loop.
    func unwatchOwner(_ watch: NameWatchID)
    /// From now on, charges an account for a connection's calls. Call this on the router's event loop.
    ///
    /// - Parameter isPaced: whether to limit the rate at which the account's calls start.
    /// - Returns: false if the connection has made no calls, or has left.
    func count(_ name: BusName, to account: String, isPaced: Bool) -> Bool
    /// If a handler calls over the lane, returns its unique name on the bus; for any other caller, returns the name
    /// itself.
    func busName(of caller: BusName) -> BusName
    /// Returns all names for which the bus can start a service.
    func activatableNames() async throws(CallError) -> [BusName]
    /// Makes the bus read its service files again.
    func reloadConfiguration(timeout: Duration) async throws(CallError)
    /// Makes the bus start the service that owns a name.
    func startService(_ name: BusName, timeout: Duration) async throws(CallError)
}
