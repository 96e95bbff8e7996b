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

    /// Returns the options that correspond to the desktop's `platform_data`.
    public static func options(_ platformData: [String: Value]) -> OpenOptions {
        var options = OpenOptions()
        options.activationToken = platformData["activation-token"]?.string
        options.desktopStartupID = platformData["desktop-startup-id"]?.string
        return options
    }

    /// Returns the `platform_data` that corresponds to options.
    public static func platformData(_ options: OpenOptions) -> [String: Value] {
        var data: [String: Value] = [:]
        data["activation-token"] = options.activationToken.map(Value.string)
        data["desktop-startup-id"] = options.desktopStartupID.map(Value.string)
        return data
    }
}
