internal import DBus
internal import OpenURLBus
internal import Processes

/// The handlers on a real bus, and on the lane beside it.
///
/// The connection does not conform to the protocol itself: if an actor is called through a protocol, a thunk leaves the
/// event loop after each call, and the order of arrival would be lost.
struct ConnectedHandlers: RouterBus {
    let connection: Connection
    let lane: Lane

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
