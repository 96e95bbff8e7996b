public import OpenURLBus

extension Application {
    /// Schedules a notification, in place of the handler's notification with the same identifier. When this returns, the
    /// notification is on disk, and outlives the handler and the router.
    ///
    /// When it is due, it is shown on the desktop, or given to the delegate if the handler is active
    /// (``ApplicationDelegate/application(_:didReceive:)``). A handler may have 128 scheduled notifications; the soonest
    /// stay.
    ///
    /// - Returns: the notification's identifier.
    /// - Throws: `OpenURLError`: `notQueued` for a time that has passed, `limitsExceeded` if 128 others come sooner, and
    ///   `notAllowed` if there is no router, or if the router refuses.
    @discardableResult
    public nonisolated func scheduleLocalNotification(
        _ notification: LocalNotification
    ) async throws(OpenURLError) -> String {
        try await scheduler.schedule(notification, identifier.rawValue)
    }

    /// Shows a notification at once, no matter what time it has. See ``scheduleLocalNotification(_:)``.
    ///
    /// - Returns: the notification's identifier.
    @discardableResult
    public nonisolated func presentLocalNotificationNow(
        _ notification: LocalNotification
    ) async throws(OpenURLError) -> String {
        var now = notification
        (now.deliveryTime, now.repeatInterval) = (nil, nil)
        return try await scheduler.schedule(now, identifier.rawValue)
    }

    /// Removes the notification with this identifier, from the screen too. If there is none, nothing happens.
    ///
    /// - Throws: `OpenURLError` with the code `notAllowed`.
    public nonisolated func cancelLocalNotification(_ identifier: String) async throws(OpenURLError) {
        try await scheduler.cancel(identifier, self.identifier.rawValue)
    }

    /// Removes all notifications of the handler, from the screen too.
    ///
    /// - Throws: `OpenURLError` with the code `notAllowed`.
    public nonisolated func cancelAllLocalNotifications() async throws(OpenURLError) {
        try await scheduler.cancel(nil, identifier.rawValue)
    }

    /// The handler's notifications that are still to come, the soonest first.
    public nonisolated var scheduledLocalNotifications: [LocalNotification] {
        get async throws(OpenURLError) { try await scheduler.list(identifier.rawValue) }
    }

    private nonisolated var scheduler: any NotificationScheduler {
        get throws(OpenURLError) {
            guard let notifications else { throw OpenURLError(.notAllowed, "there is no router for notifications") }
            return notifications
        }
    }
}

/// The keeper of scheduled notifications. Outside tests, this is the router.
package protocol NotificationScheduler: Sendable {
    /// Schedules a notification of a handler. Returns the notification's identifier.
    func schedule(_ notification: LocalNotification, _ id: String) async throws(OpenURLError) -> String
    /// Removes a handler's notification; without an identifier, all of them.
    func cancel(_ identifier: String?, _ id: String) async throws(OpenURLError)
    /// Returns a handler's notifications.
    func list(_ id: String) async throws(OpenURLError) -> [LocalNotification]
}
