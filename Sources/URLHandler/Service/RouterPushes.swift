internal import DBus
internal import OpenURLBus

/// The router on the bus, as the keeper of registrations for pushes. Calls start the router if necessary.
struct RouterPushes: PushRegistrar {
    /// The distributor has 20 s to give an endpoint.
    private static let timeout = Duration.seconds(60)

    let connection: Connection

    func register(_ id: String, _ options: PushOptions) async throws(OpenURLError) -> PushRegistration {
        try await connection.callRouter(PushInterface.register, Arguments(id, options), timeout: Self.timeout)
    }

    func unregister(_ id: String, _ instance: String) async throws(OpenURLError) {
        _ = try await connection.callRouter(PushInterface.unregister, Arguments(id, instance), timeout: Self.timeout)
    }
}
