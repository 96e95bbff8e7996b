internal import DBus

/// The names on the bus, and the connections that own them.
protocol BusNames: Sendable {
    /// Whether the bus has not ended. Call it on the router's event loop.
    var isOpen: Bool { get }
    /// The newest connection of the bus; nil if it is not known. Call it on the router's event loop.
    var newestConnection: ConnectionNumber? { get }
    /// All names that have an owner now.
    func names() async throws(CallError) -> [BusName]
    /// The connection that owns a handler's name now.
    func owner(of id: BusName) async throws(CallError) -> BusName?
    /// The process that a connection belongs to.
    func credentials(of name: BusName) async throws(CallError) -> Credentials
    /// Calls `handler` on the router's event loop each time the owner of a handler's name changes.
    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID
    /// Ends a watch. Call it on the router's event loop.
    func unwatchOwner(_ watch: NameWatchID)
    /// Counts the calls of a connection to an account from now on. Call it on the router's event loop.
    ///
    /// - Parameter isPaced: whether the calls of the account start at a limited pace.
    func count(_ name: BusName, to account: String, isPaced: Bool)
    /// The unique name on the bus of the handler that calls over the lane by a name; the name itself for any other caller.
    func busName(of caller: BusName) -> BusName
    /// All names that the bus can start a service for.
    func activatableNames() async throws(CallError) -> [BusName]
    /// Makes the bus read its service files again.
    func reloadConfiguration(timeout: Duration) async throws(CallError)
    /// Makes the bus start the service that owns a name.
    func startService(_ name: BusName, timeout: Duration) async throws(CallError)
}
