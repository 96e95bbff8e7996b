internal import DBus
internal import OpenURLBus

/// The router on the bus, as the keeper of scheduled notifications. Calls start the router if necessary.
struct RouterNotifications: NotificationScheduler {
    let connection: Connection

    func schedule(_ notification: LocalNotification, _ id: String) async throws(OpenURLError) -> String {
        try await call(NotificationsInterface.schedule, Arguments(id, notification))
    }

    func cancel(_ identifier: String?, _ id: String) async throws(OpenURLError) {
        if let identifier {
            _ = try await call(NotificationsInterface.cancel, Arguments(id, identifier))
        } else {
            _ = try await call(NotificationsInterface.cancelAll, id)
        }
    }

    func list(_ id: String) async throws(OpenURLError) -> [LocalNotification] {
        try await call(NotificationsInterface.list, id)
    }

    private func call<Input: MessageBody & Sendable, Output: MessageBody & Sendable>(
        _ method: Method<Input, Output>,
        _ input: Input
    ) async throws(OpenURLError) -> Output {
        do throws(CallError) {
            return try await connection.call(method, on: RouterService.object, input)
        } catch {
            if case .remote(let remote) = error {
                throw OpenURLError(remote) ?? OpenURLError(.notAllowed, remote.message)
            }
            throw OpenURLError(.notAllowed, "the router did not answer: \(error)")
        }
    }
}
