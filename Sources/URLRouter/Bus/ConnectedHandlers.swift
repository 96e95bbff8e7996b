internal import DBus
internal import OpenURLBus
internal import Processes
internal import Reactor

/// The handlers on a real bus, and on the lane beside it.
///
/// The connection does not conform to the protocol itself: if an actor is called through a protocol, a thunk leaves the
/// event loop after each call, and the order of arrival would be lost.
struct ConnectedHandlers: RouterBus {
    let connection: Connection
    let lane: Lane
    private let subscribers = Lock<[BusName]>([])

    init(connection: Connection, lane: Lane) {
        self.connection = connection
        self.lane = lane
    }

    private func handler(_ id: BusName, _ owner: BusName) -> RemoteObject {
        RemoteObject(owner, HandlerInterface.object(of: id))
    }

    /// Calls a method of a program, over the lane if the program is a handler that is attached there.
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

    func count(_ name: BusName, to account: String, isPaced: Bool) -> Bool {
        lane.connection(of: name)?.assumeIsolated { $0.setAccount(account, isPaced: isPaced, of: name) } ?? false
    }

    func unwatchOwner(_ watch: NameWatchID) {
        lane.connection(of: watch.name)?.assumeIsolated { connection in
            do throws(CallError) {
                try connection.unwatchName(watch)
            } catch {
                // If the connection has ended, it watches nothing.
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
        _ url: DeliveredURL,
        with handler: RemoteObject,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer {
        try await call(HandlerInterface.open, handler, url, timeout: timeout)
    }

    func cancel(_ request: String, _ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.cancel, handler(id, owner), request, timeout: timeout)
    }

    func progress(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> (String, UInt64) {
        try await call(HandlerInterface.progress, handler(id, owner), Empty(), timeout: timeout).values
    }

    func check(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.check, handler(id, owner), Empty(), timeout: timeout)
    }

    func terminate(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.terminate, handler(id, owner), Empty(), timeout: timeout)
    }

    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String {
        let object = handler(id, owner)
        let way = lane.connection(toHandlerAt: owner)
        do throws(CallError) {
            return try await way.get(HandlerInterface.state, on: object, timeout: timeout)
        } catch .disconnected where way !== connection {
            throw .endOfLane
        }
    }

    func resignActive(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        try await callIfPresent(HandlerInterface.resignActive, id, owner, timeout)
    }

    func becomeActive(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        try await callIfPresent(HandlerInterface.becomeActive, id, owner, timeout)
    }

    /// Calls a method that a handler may lack if it makes no distinction between active and inactive.
    private func callIfPresent(
        _ method: Method<Empty, Empty>,
        _ id: BusName,
        _ owner: BusName,
        _ timeout: Duration
    ) async throws(CallError) {
        do throws(CallError) {
            _ = try await call(method, handler(id, owner), Empty(), timeout: timeout)
        } catch .remote(let error) where error.isFromMissingMethod {
            // There is nothing to tell it.
        }
    }

    func enterBackground(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.enterBackground, handler(id, owner), Empty(), timeout: timeout)
    }

    func suspend(
        _ id: BusName,
        at owner: BusName,
        lifeline: UnixFD,
        timeout: Duration
    ) async throws(CallError) -> Bool {
        try await call(HandlerInterface.suspend, handler(id, owner), lifeline, timeout: timeout)
    }

    func receiveMemoryWarning(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.receiveMemoryWarning, handler(id, owner), Empty(), timeout: timeout)
    }

    func expireBackgroundTasks(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        _ = try await call(HandlerInterface.expireBackgroundTasks, handler(id, owner), Empty(), timeout: timeout)
    }

    func notify(
        _ notifications: [String: Value],
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) {
        guard notifications.isEmpty, !owner.isOnLane else {
            _ = try await call(HandlerInterface.notify, handler(id, owner), notifications, timeout: timeout)
            return
        }
        // An empty notification waits for the calls that the bus has delivered before, so it takes the same way.
        _ = try await connection.call(HandlerInterface.notify, on: handler(id, owner), notifications, timeout: timeout)
    }

    func wake(
        _ context: WakeContext,
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> WakeAnswer {
        do throws(CallError) {
            return try await call(HandlerInterface.wake, handler(id, owner), context, timeout: timeout)
        } catch .unexpectedReply(.wrongType(expected: _, found: "")) {
            // In another language, a method is easily written without a result.
            return WakeAnswer()
        }
    }

    func setSubscribers(_ names: [BusName]) {
        subscribers.withLock { $0 = names }
    }

    var hasSubscribers: Bool { subscribers.withLock { !$0.isEmpty } }

    func announce(changed schemes: [String]) {
        emit(RegistryInterface.changed, schemes)
    }

    func announce(_ state: HandlerState, of id: BusName) {
        emit(LifecycleInterface.stateChanged, Arguments(id.rawValue, state.rawValue))
    }

    func announceLaunch(of id: BusName, _ scheme: String, image: String) {
        emit(LifecycleInterface.launchBegan, Arguments(id.rawValue, scheme, image))
    }

    func announceEndOfLaunch(of id: BusName) {
        emit(LifecycleInterface.launchEnded, id.rawValue)
    }

    func announce(_ state: QueuedURL.State, ofQueued id: Int64) {
        emit(QueueInterface.stateChanged, Arguments("\(id)", state.rawValue))
    }

    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName) {
        emit(RequestInterface.progress, Arguments(report.fraction, report.message), from: handle, to: owner)
    }

    func reportStart(from handle: ObjectPath, to owner: BusName) {
        emit(RequestInterface.started, Empty(), from: handle, to: owner)
    }

    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    ) {
        let body = Arguments(code.rawValue, url, details)
        emit(CallbackHandleInterface.completed, body, from: handle, to: owner)
    }

    func refuse(_ details: CallbackDetails, from handle: ObjectPath, to owner: BusName) {
        emit(CallbackHandleInterface.refused, details, from: handle, to: owner)
    }

    /// Emits a handle's signal, but only to the handle's owner.
    private func emit<Body: MessageBody & Sendable>(
        _ signal: Signal<Body>,
        _ body: Body,
        from handle: ObjectPath,
        to owner: BusName
    ) {
        lane.connection(of: owner)?.assumeIsolated { connection in
            do throws(CallError) {
                try connection.emit(signal, from: handle, to: owner, body)
            } catch {
                // If the connection has ended, no program is listening.
            }
        }
    }

    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool {
        lane.connection(of: receiver)?.assumeIsolated { connection in
            do throws(CallError) {
                return try connection.emit(MonitorInterface.entries, from: RouterService.path, to: receiver, entries)
            } catch {
                // If the connection has ended, no program is listening.
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
                    // If the connection has ended, the program is not listening.
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
            // A handler that implements only `Open` has nothing to show.
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
    /// The error if the connection over the lane ended before the answer. It is the same as the bus's error about a
    /// process that has exited.
    fileprivate static let endOfLane = CallError.remote(
        RemoteError(.noReply, "the process closed its connection", isFromBus: true)
    )

    /// Returns the error for a program that has left the lane.
    fileprivate static func missing(_ name: BusName) -> CallError {
        .remote(RemoteError(.nameHasNoOwner, "\(name) has left the bus", isFromBus: true))
    }
}
