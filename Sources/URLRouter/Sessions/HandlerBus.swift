internal import DBus
internal import OpenURLBus
internal import Reactor

/// The calls of the router to its handlers and to the bus that they are on.
protocol HandlerBus: Sendable {
    /// Whether the bus has not ended. Call it on the router's event loop.
    var isOpen: Bool { get }
    /// The newest connection of the bus; nil if it is not known. Call it on the router's event loop.
    var newestConnection: ConnectionNumber? { get }
    /// Calls `handler` on the router's event loop each time the owner of a handler's name changes.
    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID
    /// Counts the calls of a connection to an account from now on. Call it on the router's event loop.
    func count(_ name: BusName, to account: String)
    /// Ends a watch. Call it on the router's event loop.
    func unwatchOwner(_ watch: NameWatchID)
    /// All names that have an owner now.
    func names() async throws(CallError) -> [BusName]
    /// The connection that owns a handler's name now.
    func owner(of id: BusName) async throws(CallError) -> BusName?
    /// The process that a connection belongs to.
    func credentials(of name: BusName) async throws(CallError) -> Credentials
    /// Reaches the handler `id` over the lane from now on, if the process of its connection `owner` has offered that.
    func attach(_ id: BusName, at owner: BusName, _ process: ProcessIdentity)
    /// Whether the connection `owner` of a handler is reached over the lane.
    func isAttached(_ owner: BusName) -> Bool
    /// Ends the handler's connection over the lane, after the answers that have arrived: its process has ended. Call it on the router's
    /// event loop.
    func detach(_ owner: BusName)
    /// The unique name on the bus of the handler that calls over the lane by a name; the name itself for any other caller.
    func busName(of caller: BusName) -> BusName
    /// Hands a URL to the handler `id` at the connection `owner`.
    func open(
        _ url: String,
        _ context: OpenContext,
        with id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer
    /// Asks the handler to stop its work on the request of this name.
    func cancel(_ request: String, _ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// The delegate method that the handler is in now, and the method's time so far in microseconds; empty if it is in none.
    func progress(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> (String, UInt64)
    /// Returns when the handler's main actor answers.
    func check(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// The handler's own word about its state.
    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String
    /// Takes the handler to the background; returns when its delegate has been told.
    func enterBackground(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Asks the handler to release its name; returns whether it has.
    func suspend(
        _ id: BusName,
        at owner: BusName,
        lifeline: UnixFD,
        timeout: Duration
    ) async throws(CallError) -> Bool
    func receiveMemoryWarning(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    func expireBackgroundTasks(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    func notify(
        _ notifications: [String: Value],
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError)
    /// Asks a handler to end.
    func terminate(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Sets the connections that get the signals.
    func setSubscribers(_ names: [BusName])
    /// Emits the signal that these schemes go to other handlers than before.
    func announce(changed schemes: [String])
    /// Emits the signal of a handle, to its owner alone.
    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName)
    /// Emits the signal of a claim that has ended, to its owner alone.
    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    )
    /// Emits the signal about requests, to one connection; returns whether the connection still gets signals.
    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool
    /// Emits the signal that a handler's state has changed.
    func announce(_ state: HandlerState, of id: BusName)
    /// Emits the signal that the state of a URL in the queue has changed.
    func announce(_ state: QueuedURL.State, ofQueued id: Int64)
    /// All names that the bus can start a service for.
    func activatableNames() async throws(CallError) -> [BusName]
    /// Makes the bus read its service files again.
    func reloadConfiguration(timeout: Duration) async throws(CallError)
    /// Makes the bus start the service that owns a name.
    func startService(_ name: BusName, timeout: Duration) async throws(CallError)
    /// Asks the handler or application `name` at the connection `owner` to show itself.
    func activate(
        _ name: BusName,
        _ platformData: [String: Value],
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError)
    /// Hands a URL to the application `name` at the connection `owner`.
    func openApplication(
        _ url: String,
        _ platformData: [String: Value],
        with name: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError)
}

/// The handlers on a real bus, and on the lane beside it.
///
/// The connection does not conform to the protocol itself. Calls of an actor through a protocol pass a thunk that leaves the
/// event loop after each call, and the order of arrival would be lost.
struct ConnectedHandlers: HandlerBus {
    let connection: Connection
    let lane: Lane
    private let subscribers = Lock<[BusName]>([])

    init(connection: Connection, lane: Lane) {
        self.connection = connection
        self.lane = lane
    }

    /// Calls a method of a handler, over the lane if the handler is attached there.
    private func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ id: BusName,
        at owner: BusName,
        _ input: Input,
        timeout: Duration
    ) async throws(CallError) -> Output {
        try await call(method, RemoteObject(owner, HandlerInterface.object(of: id)), input, timeout: timeout)
    }

    private func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ object: RemoteObject,
        _ input: Input,
        timeout: Duration
    ) async throws(CallError) -> Output {
        let way = object.destination.map(lane.connection(toHandlerAt:)) ?? connection
        do throws(CallError) {
            return try await way.call(method, on: object, input, timeout: timeout)
        } catch .disconnected where way !== connection {
            throw .endOfLane
        }
    }

    var isOpen: Bool { connection.assumeIsolated { $0.isOpen } }

    var newestConnection: ConnectionNumber? { connection.assumeIsolated { $0.newestConnection } }

    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID {
        guard let way = lane.connection(of: id) else { throw .missing(id) }
        return try await way.watchName(id, handler)
    }

    func count(_ name: BusName, to account: String) {
        lane.connection(of: name)?.assumeIsolated { $0.setAccount(account, of: name) }
    }

    func unwatchOwner(_ watch: NameWatchID) {
        lane.connection(of: watch.name)?.assumeIsolated { connection in
            do throws(CallError) {
                try connection.unwatchName(watch)
            } catch {
                // A connection that has ended watches nothing.
            }
        }
    }

    func names() async throws(CallError) -> [BusName] {
        try await connection.names()
    }

    func owner(of id: BusName) async throws(CallError) -> BusName? {
        guard id.isOnLane else { return try await connection.owner(of: id) }
        return await lane.connection(of: id)?.isOpen == true ? id : nil
    }

    func credentials(of name: BusName) async throws(CallError) -> Credentials {
        guard name.isOnLane else { return try await connection.credentials(of: name) }
        guard let credentials = lane.credentials(of: name) else { throw .missing(name) }
        return credentials
    }

    func attach(_ id: BusName, at owner: BusName, _ process: ProcessIdentity) {
        lane.attach(id, at: owner, process)
    }

    func isAttached(_ owner: BusName) -> Bool { lane.connection(toHandlerAt: owner) !== connection }

    func detach(_ owner: BusName) { lane.detach(owner) }

    func busName(of caller: BusName) -> BusName { lane.busName(of: caller) }

    func open(
        _ url: String,
        _ context: OpenContext,
        with id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer {
        try await call(HandlerInterface.open, id, at: owner, Arguments(url, context), timeout: timeout)
    }

    func cancel(_ request: String, _ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.cancel, id, at: owner, request, timeout: timeout)
    }

    func progress(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> (String, UInt64) {
        try await call(HandlerInterface.progress, id, at: owner, Empty(), timeout: timeout).values
    }

    func check(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.check, id, at: owner, Empty(), timeout: timeout)
    }

    func terminate(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.terminate, id, at: owner, Empty(), timeout: timeout)
    }

    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String {
        let object = RemoteObject(owner, HandlerInterface.object(of: id))
        let way = lane.connection(toHandlerAt: owner)
        do throws(CallError) {
            return try await way.get(HandlerInterface.state, on: object, timeout: timeout)
        } catch .disconnected where way !== connection {
            throw .endOfLane
        }
    }

    func enterBackground(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.enterBackground, id, at: owner, Empty(), timeout: timeout)
    }

    func suspend(
        _ id: BusName,
        at owner: BusName,
        lifeline: UnixFD,
        timeout: Duration
    ) async throws(CallError) -> Bool {
        try await call(HandlerInterface.suspend, id, at: owner, lifeline, timeout: timeout)
    }

    func receiveMemoryWarning(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.receiveMemoryWarning, id, at: owner, Empty(), timeout: timeout)
    }

    func expireBackgroundTasks(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.expireBackgroundTasks, id, at: owner, Empty(), timeout: timeout)
    }

    func notify(
        _ notifications: [String: Value],
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) {
        _ = try await call(HandlerInterface.notify, id, at: owner, notifications, timeout: timeout)
    }

    func setSubscribers(_ names: [BusName]) {
        subscribers.withLock { $0 = names }
    }

    func announce(changed schemes: [String]) {
        emit(RegistryInterface.changed, schemes)
    }

    func announce(_ state: HandlerState, of id: BusName) {
        emit(LifecycleInterface.stateChanged, Arguments(id.rawValue, state.rawValue))
    }

    func announce(_ state: QueuedURL.State, ofQueued id: Int64) {
        emit(QueueInterface.stateChanged, Arguments("\(id)", state.rawValue))
    }

    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName) {
        lane.connection(of: owner)?.assumeIsolated { connection in
            do throws(CallError) {
                let body = Arguments(report.fraction, report.message)
                try connection.emit(RequestInterface.progress, from: handle, to: owner, body)
            } catch {
                // The connection has ended, so no program listens.
            }
        }
    }

    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    ) {
        lane.connection(of: owner)?.assumeIsolated { connection in
            do throws(CallError) {
                let body = Arguments(code.rawValue, url, details)
                try connection.emit(CallbackHandleInterface.completed, from: handle, to: owner, body)
            } catch {
                // The connection has ended, so no program waits.
            }
        }
    }

    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool {
        lane.connection(of: receiver)?.assumeIsolated { connection in
            do throws(CallError) {
                return try connection.emit(MonitorInterface.entries, from: RouterService.path, to: receiver, entries)
            } catch {
                // The connection has ended, so no program listens.
                return false
            }
        } ?? false
    }

    private func emit<Body: MessageBody>(_ signal: Signal<Body>, _ body: Body) {
        for name in subscribers.withLock({ $0 }) {
            lane.connection(of: name)?.assumeIsolated { connection in
                do throws(CallError) {
                    try connection.emit(signal, from: RouterService.path, to: name, body)
                } catch {
                    // The connection has ended, so the program does not listen.
                }
            }
        }
    }

    func activatableNames() async throws(CallError) -> [BusName] {
        try await connection.activatableNames()
    }

    func reloadConfiguration(timeout: Duration) async throws(CallError) {
        try await connection.reloadConfiguration(timeout: timeout)
    }

    func startService(_ name: BusName, timeout: Duration) async throws(CallError) {
        try await connection.startService(name, timeout: timeout)
    }

    func activate(
        _ name: BusName,
        _ platformData: [String: Value],
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) {
        let object = RemoteObject(owner, ObjectPath(for: name))
        do throws(CallError) {
            _ = try await call(FreedesktopApplication.activate, object, platformData, timeout: timeout)
        } catch .remote(let error) where error.isFromMissingMethod {
            // A handler that only implements `Open` has nothing to show.
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
        _ = try await call(FreedesktopApplication.open, object, input, timeout: timeout)
    }
}

extension CallError {
    /// The connection of the lane has ended before the answer: the bus would tell the same of a process that has gone.
    fileprivate static let endOfLane = CallError.remote(
        RemoteError(.noReply, "the process closed its connection", isFromBus: true)
    )

    /// A program of the lane has gone.
    fileprivate static func missing(_ name: BusName) -> CallError {
        .remote(RemoteError(.nameHasNoOwner, "\(name) has gone", isFromBus: true))
    }
}
