internal import DBus
internal import OpenURLBus
internal import Reactor

/// A handler's direct connections to successive routers, which do not go through the bus.
///
/// The handler offers such a connection, and the router calls the handler over it. Only the program on the bus is the
/// handler, so the router compares the processes.
final class RouterLanes: Sendable {
    private let bus: Connection
    private let object: HandlerObject
    private let identifier: BusName
    private struct State {
        /// The open connections: the one to the latest router, and those to routers that are ending and still wait for
        /// answers.
        var connections: [Connection] = []
        /// Whether the latest router was not listening when it appeared.
        var isMissed = false
        /// Whether no more connections will be opened.
        var isClosed = false
    }

    private let state = Lock(State())

    init(of identifier: BusName, _ bus: Connection, _ object: HandlerObject) {
        self.identifier = identifier
        self.bus = bus
        self.object = object
    }

    /// Tries again to connect if the latest router was not listening when it appeared. By the time it sends its first
    /// URL, it is.
    func openIfMissed() {
        let isMissed = state.withLock { state in
            defer { state.isMissed = false }
            return state.isMissed
        }
        if isMissed { bus.loop.startTask { await self.open(isAgain: true) } }
    }

    /// Connects to the process that owns the router's name on the bus, if it listens.
    func open(isAgain: Bool = false) async {
        guard let lane = await RouterLane.open(on: bus.loop) else {
            return state.withLock { $0.isMissed = !isAgain }
        }
        guard let process = lane.process, await process == router() else { return await lane.connection.close() }
        let isUsed = state.withLock { state in
            guard !state.isClosed else { return false }
            state.connections.append(lane.connection)
            // An earlier miss no longer matters: the router would end this connection for a second one.
            state.isMissed = false
            return true
        }
        guard isUsed else { return await lane.connection.close() }
        bus.loop.startTask {
            await lane.connection.waitUntilClosed()
            self.state.withLock { $0.connections.removeAll { $0 === lane.connection } }
        }
        await lane.connection.export(object.interfaces, at: HandlerInterface.object(of: identifier))
        do throws(CallError) {
            try await lane.connection.call(
                LaneInterface.offer,
                on: LaneInterface.object,
                identifier.rawValue,
                timeout: RouterLane.connectionTime
            )
        } catch {
            await lane.connection.close()
        }
    }

    /// Returns the process that owns the router's name on the bus.
    private func router() async -> UInt32? {
        do throws(CallError) {
            return try await bus.credentials(of: RouterService.name).pid
        } catch {
            return nil
        }
    }

    /// Returns when every URL that a router has sent here has arrived. Once the handler's name is free, the router
    /// sends no more.
    func receiveAll() async {
        for connection in state.withLock(\.connections) {
            do throws(CallError) {
                _ = try await connection.call(
                    PeerInterface.ping,
                    on: RouterService.object,
                    Empty(),
                    timeout: .seconds(1)
                )
            } catch {
                // The router has exited, and sends no URLs.
            }
        }
    }

    /// Ends the connections once the answers that were given have been written.
    func close() async {
        let connections = state.withLock { state in
            state.isClosed = true
            return state.connections
        }
        for connection in connections { await connection.close() }
    }
}
