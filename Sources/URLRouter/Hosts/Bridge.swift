internal import DBus
internal import OpenURLBus

/// The way to hosts through the program that owns the bridge's name on the bus, unless that program may be in a sandbox.
///
/// It belongs to the router's actor.
final class Bridge {
    /// Nil in tests without a bus.
    private let services: ServiceOwners?

    /// How long the bridge may take. It answers after `HostsInterface.outcomeTime` even if it has no outcome.
    private static let callTime = HostsInterface.outcomeTime + .seconds(10)

    init(_ services: ServiceOwners?) {
        self.services = services
    }

    /// Sends a request to a host.
    ///
    /// - Returns: nil if there is no bridge.
    func send(_ request: HostRequest, to host: HostName) async -> HostReply? {
        guard let services else { return nil }
        do throws(CallError) {
            let result = try await services.connection.call(
                BridgeInterface.send,
                on: services.object(BridgeInterface.path, of: BridgeInterface.service),
                Arguments(host.rawValue, request),
                timeout: Self.callTime
            )
            return .answer(.opened(result))
        } catch .remote(let error) where error.isFromMissingService {
            return nil
        } catch .remote(let error) {
            return .answer(.failed(error))
        } catch {
            return .none("the bridge gave no answer: \(error); \(host) may have the URL")
        }
    }

    /// Checks that a caller is the bridge.
    ///
    /// - Throws: `notAllowed`.
    func check(_ caller: BusName?) async throws {
        guard let services, let caller, try await services.owner(of: BridgeInterface.service) == caller else {
            throw OpenURLError(.notAllowed, "only the owner of \(BridgeInterface.service) may do this")
        }
    }
}
