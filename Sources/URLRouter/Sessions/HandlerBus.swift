internal import DBus
internal import OpenURLBus

/// What the router needs of the bus that its handlers are on.
protocol HandlerBus: Sendable {
    /// Calls `handler` on the router's event loop each time the owner of a handler's name changes.
    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError)
    /// Who owns a handler's name now.
    func owner(of id: BusName) async throws(CallError) -> BusName?
    /// Which process a connection belongs to.
    func credentials(of name: BusName) async throws(CallError) -> Credentials
    /// Hands a URL to the handler `id` at the connection `owner`.
    func open(
        _ url: String,
        _ context: OpenContext,
        with id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer
    /// The delegate method that the handler is in now; empty where it is in none.
    func phase(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String
}

extension Connection: HandlerBus {
    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) {
        _ = try await watchName(id, handler)
    }

    func open(
        _ url: String,
        _ context: OpenContext,
        with id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        return try await call(HandlerInterface.open, on: object, Arguments(url, context), timeout: timeout)
    }

    func phase(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String {
        try await get(HandlerInterface.phase, on: RemoteObject(owner, HandlerInterface.object(of: id)), timeout: timeout)
    }
}
