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
            throw Self.error(error)
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
            throw Self.error(error)
        }
    }

    private static func error(_ error: CallError) -> OpenURLError {
        if case .remote(let remote) = error {
            return OpenURLError(remote) ?? OpenURLError(.notAllowed, remote.message)
        }
        return OpenURLError(.notAllowed, "the router did not answer: \(error)")
    }
}
