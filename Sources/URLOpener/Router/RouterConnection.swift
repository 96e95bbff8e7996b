internal import DBus
internal import OpenURLBus
internal import RouterProgram
internal import Translations

/// A command's connection to the router, over the lane or over the bus.
final class RouterConnection {
    enum State {
        case open(BlockingConnection)
        case failed(CommandFailure)
    }

    private let invocation: Invocation
    private(set) var state: State
    /// Whether the connection is the lane's.
    private(set) var isLane: Bool

    init(_ invocation: Invocation, mayUseLane: Bool) {
        self.invocation = invocation
        let lane = mayUseLane ? Self.lane(invocation) : nil
        isLane = lane != nil
        state = lane.map(State.open) ?? Self.bus(invocation)
    }

    /// Switches to the bus if the router has closed the lane, because the bus starts another router.
    func leaveEndedLane() {
        if isLane, case .open(let lane) = state, !lane.isOpen { leaveLane() }
    }

    /// Switches to the bus.
    func leaveLane() {
        isLane = false
        state = Self.bus(invocation)
    }

    /// Connects to the router over the lane; nil if no router is listening, or if another program is. In these cases,
    /// the bus gives a better error.
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
            guard let identity = RouterIdentity(environment: invocation.environment) else { return lane }
            guard let router = lane.peerCredentials?.pid else { return nil }
            return identity.refusal(of: router) == nil ? lane : nil
        } catch {
            return nil
        }
    }

    private static func bus(_ invocation: Invocation) -> State {
        do throws(ConnectionError) {
            // Another machine's processes are not visible here.
            guard invocation.host == nil else {
                return .open(try BlockingConnection(invocation.bus, timeout: RemoteHost.connectionTime))
            }
            let bus = try BlockingConnection(invocation.bus)
            let identity = RouterIdentity(environment: invocation.environment)
            return identity.flatMap { stranger(on: bus, $0) }.map(State.failed) ?? .open(bus)
        } catch {
            return .failed(invocation.host?.failure(error) ?? CommandFailure(error, invocation.environment))
        }
    }

    /// Returns the failure for all calls if another program owns the router's name, or if the bus does not answer the
    /// question.
    private static func stranger(on bus: BlockingConnection, _ identity: RouterIdentity) -> CommandFailure? {
        do throws(CallError) {
            let pid = try bus.call(BusDriver.processID, on: BusDriver.object, RouterService.name.rawValue)
            guard let refusal = identity.refusal(of: pid) else { return nil }
            // As before the router's own errors, the cause is in the user's language.
            let cause = translatedOnly("another program has the router's name").map { "\($0): " } ?? ""
            return CommandFailure(.failed, cause + refusal, exitStatus: ExitStatus.unavailable)
        } catch .remote(let error) where error.name == .nameHasNoOwner {
            // The bus starts the program in the service file.
            return nil
        } catch .remote(let error) where error.name == "org.freedesktop.DBus.Error.UnixProcessIdUnknown" {
            // Processes cannot be seen over this bus.
            return nil
        } catch .disconnected {
            // The next call fails too.
            return nil
        } catch {
            let problem = translated("the owner of \(RouterService.name) cannot be checked: \(error)")
            return CommandFailure(.failed, problem, exitStatus: ExitStatus.unavailable)
        }
    }
}
