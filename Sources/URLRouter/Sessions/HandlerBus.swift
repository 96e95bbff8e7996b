internal import DBus
internal import OpenURLBus

/// What the router needs of the bus that its handlers are on.
protocol HandlerBus: Sendable {
    /// Calls `handler` on the router's event loop each time the owner of a handler's name changes.
    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError)
    /// All names that have an owner now.
    func names() async throws(CallError) -> [BusName]
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
    /// The state of the handler, as it says itself.
    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String
    /// Takes the handler to the background; returns when its delegate has been told, however long that takes.
    func enterBackground(_ id: BusName, at owner: BusName) async throws(CallError)
    /// Asks the handler to give its name back; however long that takes.
    func suspend(_ id: BusName, at owner: BusName) async throws(CallError) -> Bool
    func receiveMemoryWarning(_ id: BusName, at owner: BusName) async throws(CallError)
    func expireBackgroundTasks(_ id: BusName, at owner: BusName) async throws(CallError)
    func notify(_ notifications: [String: Value], _ id: BusName, at owner: BusName) async throws(CallError)
    /// Tells everybody that a handler's state has changed.
    func announce(_ state: HandlerState, of id: BusName)
    /// Tells everybody what has become of a URL in the queue, by its number.
    func announce(_ state: QueuedURL.State, ofQueued id: Int64)
    /// Has the bus start the service that owns a name.
    func startService(_ name: BusName, timeout: Duration) async throws(CallError)
    /// Asks the handler or application `name` at the connection `owner` to show itself.
    func activate(_ name: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Hands a URL to the application `name` at the connection `owner`.
    func openApplication(
        _ url: String,
        _ platformData: [String: Value],
        with name: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError)
}

/// The handlers on a real bus.
///
/// A type of its own, as an actor that conforms to the protocol itself would be called through a thunk that leaves the
/// event loop after each call, and takes the order of arrival with it.
struct ConnectedHandlers: HandlerBus {
    let connection: Connection

    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) {
        _ = try await connection.watchName(id, handler)
    }

    func names() async throws(CallError) -> [BusName] {
        try await connection.names()
    }

    func owner(of id: BusName) async throws(CallError) -> BusName? {
        try await connection.owner(of: id)
    }

    func credentials(of name: BusName) async throws(CallError) -> Credentials {
        try await connection.credentials(of: name)
    }

    func open(
        _ url: String,
        _ context: OpenContext,
        with id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        return try await connection.call(HandlerInterface.open, on: object, Arguments(url, context), timeout: timeout)
    }

    func phase(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        return try await connection.get(HandlerInterface.phase, on: object, timeout: timeout)
    }

    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        return try await connection.get(HandlerInterface.state, on: object, timeout: timeout)
    }

    // A delegate method has a watchdog of its own, and what was asked of a process ends with the process.

    func enterBackground(_ id: BusName, at owner: BusName) async throws(CallError) {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        _ = try await connection.call(HandlerInterface.enterBackground, on: object, Empty(), timeout: nil)
    }

    func suspend(_ id: BusName, at owner: BusName) async throws(CallError) -> Bool {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        return try await connection.call(HandlerInterface.suspend, on: object, Empty(), timeout: nil)
    }

    func receiveMemoryWarning(_ id: BusName, at owner: BusName) async throws(CallError) {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        _ = try await connection.call(HandlerInterface.receiveMemoryWarning, on: object, Empty(), timeout: nil)
    }

    func expireBackgroundTasks(_ id: BusName, at owner: BusName) async throws(CallError) {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        _ = try await connection.call(HandlerInterface.expireBackgroundTasks, on: object, Empty(), timeout: nil)
    }

    func notify(_ notifications: [String: Value], _ id: BusName, at owner: BusName) async throws(CallError) {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        _ = try await connection.call(HandlerInterface.notify, on: object, notifications, timeout: nil)
    }

    func announce(_ state: HandlerState, of id: BusName) {
        emit(LifecycleInterface.stateChanged, Arguments(id.rawValue, state.rawValue))
    }

    func announce(_ state: QueuedURL.State, ofQueued id: Int64) {
        emit(QueueInterface.stateChanged, Arguments("\(id)", state.rawValue))
    }

    private func emit<Body: MessageBody>(_ signal: Signal<Body>, _ body: Body) {
        connection.assumeIsolated { connection in
            do throws(CallError) {
                try connection.emit(signal, from: RouterService.path, body)
            } catch {
                // Without a bus nobody listens.
            }
        }
    }

    func startService(_ name: BusName, timeout: Duration) async throws(CallError) {
        try await connection.startService(name, timeout: timeout)
    }

    func activate(_ name: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        let object = RemoteObject(owner, ObjectPath(for: name))
        do throws(CallError) {
            _ = try await connection.call(FreedesktopApplication.activate, on: object, [:], timeout: timeout)
        } catch .remote(let error) where error.isFromMissingMethod {
            // A handler that implements `Open` alone has nothing to show.
        }
    }

    func openApplication(
        _ url: String,
        _ platformData: [String: Value],
        with name: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) {
        let object = RemoteObject(owner, ObjectPath(for: name))
        let input = Arguments([url], platformData)
        _ = try await connection.call(FreedesktopApplication.open, on: object, input, timeout: timeout)
    }
}
