internal import DBus
internal import OpenURLBus

/// The router on the bus, as the keeper of scheduled notifications. Calls start the router if necessary.
struct RouterNotifications: NotificationScheduler {
    let connection: Connection

    func schedule(_ notification: LocalNotification, _ id: String) async throws(OpenURLError) -> String {
        try await connection.callRouter(NotificationsInterface.schedule, Arguments(id, notification))
    }

    func cancel(_ identifier: String?, _ id: String) async throws(OpenURLError) {
        if let identifier {
            _ = try await connection.callRouter(NotificationsInterface.cancel, Arguments(id, identifier))
        } else {
            _ = try await connection.callRouter(NotificationsInterface.cancelAll, id)
        }
    }

    func list(_ id: String) async throws(OpenURLError) -> [LocalNotification] {
        try await connection.callRouter(NotificationsInterface.list, id)
    }
}
