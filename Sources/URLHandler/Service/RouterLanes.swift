internal import DBus
internal import OpenURLBus
internal import Reactor

/// The connections of a handler to routers beside the bus, one after the other.
///
/// The router calls the handler over such a connection, which the handler offers. A program on the bus alone is the handler: the
/// router compares the processes.
final class RouterLanes: Sendable {
    private let bus: Connection
    private let object: HandlerObject
    private let identifier: BusName
    /// The connection to the latest router, and whether there will be no other.
    private let state = Lock<(connection: Connection?, isClosed: Bool)>((nil, false))

    init(of identifier: BusName, _ bus: Connection, _ object: HandlerObject) {
        self.identifier = identifier
        self.bus = bus
        self.object = object
    }

    /// Connects to the router that has the router's name on the bus, if that process listens.
    func open() async {
        guard let lane = await RouterLane.open(on: bus.loop) else { return }
        guard let process = lane.process, await process == router() else { return await lane.connection.close() }
        let earlier: Connection?? = state.withLock { state in
            guard !state.isClosed else { return nil }
            defer { state.connection = lane.connection }
            return .some(state.connection)
        }
        guard let earlier else { return await lane.connection.close() }
        await earlier?.close()
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

    /// The process that has the router's name on the bus.
    private func router() async -> UInt32? {
        do throws(CallError) {
            return try await bus.credentials(of: RouterService.name).pid
        } catch {
            return nil
        }
    }

    /// Returns when every URL that the router has sent here has arrived. The router sends no more after the handler's name is free.
    func receiveAll() async {
        guard let connection = state.withLock(\.connection) else { return }
        do throws(CallError) {
            _ = try await connection.call(
                PeerInterface.ping,
                on: RouterService.object,
                Empty(),
                timeout: .seconds(1)
            )
        } catch {
            // The router has gone, and sends no URLs.
        }
    }

    /// Ends the connection, when the answers that were given are written.
    func close() async {
        let connection = state.withLock { state in
            state.isClosed = true
            return state.connection
        }
        await connection?.close()
    }
}
