public import OpenURLBus

extension Application {
    /// Registers the handler for pushes from its server (`registerForRemoteNotifications` in the guide), through a
    /// UnifiedPush distributor that the user has installed.
    ///
    /// Call this at each launch: a handler that is registered gets its registration at once. Send the endpoint and the
    /// public key of your encryption (RFC 8291) to your server. If the endpoint changes later, the delegate gets a
    /// notification of the kind `PushInterface.endpointKind`.
    ///
    /// - Returns: the registration with its endpoint.
    /// - Throws: `OpenURLError` with the code `notAllowed`; the message says why, for example that there is no
    ///   distributor.
    public nonisolated func registerForRemoteNotifications(
        _ options: PushOptions = PushOptions()
    ) async throws(OpenURLError) -> PushRegistration {
        guard let pushes else { throw OpenURLError(.notAllowed, "there is no router to register with") }
        return try await pushes.register(identifier.rawValue, options)
    }

    /// Ends the handler's registration with this instance. If there is none, nothing happens.
    ///
    /// - Throws: `OpenURLError` with the code `notAllowed`.
    public nonisolated func unregisterForRemoteNotifications(instance: String = "") async throws(OpenURLError) {
        guard let pushes else { throw OpenURLError(.notAllowed, "there is no router to register with") }
        try await pushes.unregister(identifier.rawValue, instance)
    }
}

/// The keeper of registrations for pushes. Outside tests, this is the router.
package protocol PushRegistrar: Sendable {
    /// Registers a handler, and returns when its endpoint is known.
    func register(_ id: String, _ options: PushOptions) async throws(OpenURLError) -> PushRegistration
    /// Ends a registration.
    func unregister(_ id: String, _ instance: String) async throws(OpenURLError)
}
