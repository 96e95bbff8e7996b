internal import DBus
internal import OpenURLBus

/// The router on the bus, as the keeper of registrations for pushes. Calls start the router if necessary.
struct RouterPushes: PushRegistrar {
    /// The distributor has 20 s to give an endpoint.
    private static let timeout = Duration.seconds(60)

    let connection: Connection

    func register(_ id: String, _ options: PushOptions) async throws(OpenURLError) -> PushRegistration {
        do throws(CallError) {
            return try await connection.call(
                PushInterface.register,
                on: RouterService.object,
                Arguments(id, options),
                timeout: Self.timeout
            )
        } catch {
            throw OpenURLError(fromRouter: error)
        }
    }

    func unregister(_ id: String, _ instance: String) async throws(OpenURLError) {
        do throws(CallError) {
            let input = Arguments(id, instance)
            _ = try await connection.call(
                PushInterface.unregister,
                on: RouterService.object,
                input,
                timeout: Self.timeout
            )
        } catch {
            throw OpenURLError(fromRouter: error)
        }
    }
}

extension OpenURLError {
    /// Creates the error for a call to the router that has failed.
    init(fromRouter error: CallError) {
        guard case .remote(let remote) = error else {
            self.init(.notAllowed, "the router did not answer: \(error)")
            return
        }
        self = OpenURLError(remote) ?? OpenURLError(.notAllowed, remote.message)
    }
}
