public import DBus

/// `org.freedesktop.Application`: the interface through which the desktop reaches a program over the bus ("D-Bus
/// Activation", desktop entry specification).
///
/// The router exports it so that a desktop entry can refer to the router. Each handler exports it too, so that the
/// desktop can reach the handler without a router.
public enum FreedesktopApplication {
    /// Name of the interface.
    public static let name: InterfaceName = "org.freedesktop.Application"

    /// Starts the program without a URL.
    public static let activate = Method<[String: Value], Empty>(name, "Activate", inputs: ["platform_data"])
    /// Runs an action of the program's desktop entry.
    public static let activateAction = Method<Arguments<String, [Value], [String: Value]>, Empty>(
        name,
        "ActivateAction",
        inputs: ["action_name", "parameter", "platform_data"]
    )
    /// Opens URLs.
    public static let open = Method<Arguments<[String], [String: Value]>, Empty>(
        name,
        "Open",
        inputs: ["uris", "platform_data"]
    )

    /// Returns the options that correspond to the desktop's `platform_data`, without tokens that no program can use.
    public static func options(_ platformData: [String: Value]) -> OpenOptions {
        var options = OpenOptions()
        options.activationToken = FocusToken.checked(platformData["activation-token"]?.string)
        options.desktopStartupID = FocusToken.checked(platformData["desktop-startup-id"]?.string)
        return options
    }

    /// The key in `platform_data` for the handler's own notification, which the user has clicked on.
    public static let notificationKey = "local-notification"

    /// Returns the notification in the router's `platform_data`; nil if there is none.
    package static func notification(
        _ platformData: [String: Value]
    ) throws(MessageDecodingError) -> LocalNotification? {
        guard let value = platformData[notificationKey] else { return nil }
        return try LocalNotification(value: value)
    }

    /// Returns the `platform_data` that corresponds to options.
    ///
    /// - Parameter notification: the handler's own notification, if the user has clicked on one.
    public static func platformData(
        _ options: OpenOptions,
        _ notification: LocalNotification? = nil
    ) -> [String: Value] {
        var data: [String: Value] = [:]
        data["activation-token"] = options.activationToken.map(Value.string)
        data["desktop-startup-id"] = options.desktopStartupID.map(Value.string)
        data[notificationKey] = notification?.content.asValue
        return data
    }
}
