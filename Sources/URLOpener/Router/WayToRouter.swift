internal import DBus
internal import OpenURLBus

/// The connection of a command to the router: over the lane, or over the bus.
final class WayToRouter {
    enum Connection {
        case open(BlockingConnection)
        case failed(CommandFailure)
    }

    private let invocation: Invocation
    private(set) var connection: Connection
    /// Whether the connection is the lane's.
    private(set) var isLane: Bool

    init(_ invocation: Invocation, mayUseLane: Bool) {
        self.invocation = invocation
        let lane = mayUseLane ? Self.lane(invocation) : nil
        isLane = lane != nil
        connection = lane.map(Connection.open) ?? Self.bus(invocation)
    }

    /// Goes on over the bus if the router has closed the lane: the bus starts another router.
    func leaveEndedLane() {
        if isLane, case .open(let lane) = connection, !lane.isOpen { leaveLane() }
    }

    /// Goes on over the bus.
    func leaveLane() {
        isLane = false
        connection = Self.bus(invocation)
    }

    /// Connects to the router over the lane; nil if no router listens, or if another program than the router does. The bus tells
    /// more then.
    private static func lane(_ invocation: Invocation) -> BlockingConnection? {
        guard let path = LaneAddress.path(for: invocation.bus) else { return nil }
        do throws(ConnectionError) {
            let lane = try BlockingConnection(
                socket: path,
                naming: LaneInterface.hello,
                on: LaneInterface.object,
                limits: RouterLane.limits,
                timeout: RouterLane.connectionTime
            )
            let identity = RouterIdentity(isCommand: true, environment: invocation.environment)
            guard let identity else { return lane }
            guard let router = lane.peerCredentials?.pid else { return nil }
            return identity.warning(about: router) == nil ? lane : nil
        } catch {
            return nil
        }
    }

    private static func bus(_ invocation: Invocation) -> Connection {
        do throws(ConnectionError) {
            guard invocation.host != nil else { return .open(try BlockingConnection(invocation.bus)) }
            return .open(try BlockingConnection(invocation.bus, timeout: RemoteHost.connectionTime))
        } catch {
            return .failed(invocation.host?.failure(error) ?? CommandFailure(error))
        }
    }
}
