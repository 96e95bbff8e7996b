public import DBus

/// `org.openurl.Notifications1`, at the router's object: notifications that handlers schedule for themselves ("Scheduling
/// the Delivery of Local Notifications").
///
/// When a notification's time comes, it is shown on the desktop, unless the handler is active: then the handler gets it
/// quietly with ``HandlerInterface/wake`` (``LaunchReason/notification``), and the user doesn't see it. A click opens the
/// notification's URL. If it has none, the click brings the handler to the foreground, and the handler gets the notification
/// with the call `Activate` of `org.freedesktop.Application`, as ``FreedesktopApplication/notificationKey`` in
/// `platform_data`.
///
/// Notifications wait in the queue of URLs, under its rules for times and attempts (``QueueInterface``), and count towards
/// the handler's share of it. ``QueueInterface/list`` shows them with the URL `local-notification:` and the identifier.
///
/// A handler may only act for itself; the user's programs may act for any handler.
public enum NotificationsInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Notifications1"

    /// Schedules a notification of a handler, in place of its notification with the same identifier. Returns the
    /// identifier when the notification is on disk.
    ///
    /// The soonest ``notificationsPerHandler`` of a handler stay: if there are more, the one with the latest time is
    /// removed. If that would be the new one, the error is ``OpenURLError/Code/limitsExceeded``. For a time that has
    /// passed, it is ``OpenURLError/Code/notQueued``. A handler that is registered only temporarily cannot schedule, and
    /// one that runs only to open URLs can do so only with a URL.
    public static let schedule = Method<Arguments<String, LocalNotification>, String>(
        name,
        "Schedule",
        inputs: ["id", "notification"],
        outputs: ["identifier"]
    )
    /// Removes a handler's notification, from the screen too. If there is none with this identifier, nothing happens.
    public static let cancel = Method<Arguments<String, String>, Empty>(
        name,
        "Cancel",
        inputs: ["id", "identifier"]
    )
    /// Removes all notifications of a handler, from the screen too.
    public static let cancelAll = Method<String, Empty>(name, "CancelAll", inputs: ["id"])
    /// Returns a handler's notifications that are still to come, the soonest first. If the identifier is empty, these are
    /// the soonest ``notificationsPerList`` of all handlers that the caller may act for.
    public static let list = Method<String, [LocalNotification]>(
        name,
        "List",
        inputs: ["id"],
        outputs: ["notifications"]
    )

    /// Number of notifications that a handler may have scheduled.
    public static let notificationsPerHandler = 128
    /// Number of notifications in one answer from ``list``.
    public static let notificationsPerList = 1024
}
