package import DBus
package import Reactor

/// A connection to the router without a bus.
package struct RouterLane: Sendable {
    /// The connection, whose other end has the router's name.
    package let connection: Connection
    /// This program's unique name on the lane.
    package let name: BusName
    /// The process that listens at the other end.
    package let process: UInt32?

    /// Time limit for the exchange that a lane begins with. If there is no answer by then, the caller uses the bus.
    package static let connectionTime = Duration.seconds(2)

    /// Maximum size of a call over a lane. The router accepts no larger arguments over the bus either, but there it
    /// reports the error.
    package static let callBytes = ConnectionLimits().bodyBytes + (64 << 10)

    /// Limits for a program's end of the lane.
    package static let limits: ConnectionLimits = {
        var limits = ConnectionLimits()
        limits.callBytes = callBytes
        return limits
    }()

    /// Connects to a bus's router; nil if it cannot be reached this way.
    package static func open(for bus: BusAddress = .session, on loop: EventLoop) async -> RouterLane? {
        guard let path = LaneAddress.path(for: bus) else { return nil }
        return await open(at: path, on: loop)
    }

    static func open(at path: String, on loop: EventLoop) async -> RouterLane? {
        let connection: Connection
        do throws(ConnectionError) {
            connection = try await Connection.open(
                socket: path,
                naming: LaneInterface.hello,
                on: LaneInterface.object,
                on: loop,
                limits: limits,
                timeout: connectionTime
            )
        } catch {
            // Perhaps the router is not running, or has too many connections, or another program is listening. The bus
            // will show which.
            return nil
        }
        guard let name = connection.givenName, name.isUnique else {
            // Nothing else refers to this connection, so it would stay open.
            await connection.close()
            return nil
        }
        await connection.namePeer(RouterService.name)
        return RouterLane(connection: connection, name: name, process: await connection.peerCredentials?.pid)
    }
}
