public import DBus

/// `org.freedesktop.Application`: how the desktop reaches a program over the bus ("D-Bus Activation", desktop entry
/// specification). The router exports it, so that a desktop entry can name it, and each handler, so that it works where there
/// is no router.
public enum FreedesktopApplication {
    /// The interface's name.
    public static let name: InterfaceName = "org.freedesktop.Application"

    /// Starts the program without a URL.
    public static let activate = Method<[String: Value], Empty>(name, "Activate", inputs: ["platform_data"])
    /// Runs one of the actions of the program's desktop entry.
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

    /// The options that the desktop's `platform_data` stands for.
    public static func options(_ platformData: [String: Value]) -> OpenOptions {
        var options = OpenOptions()
        options.activationToken = platformData["activation-token"]?.string
        options.desktopStartupID = platformData["desktop-startup-id"]?.string
        return options
    }

    /// The `platform_data` of options.
    public static func platformData(_ options: OpenOptions) -> [String: Value] {
        var data: [String: Value] = [:]
        data["activation-token"] = options.activationToken.map(Value.string)
        data["desktop-startup-id"] = options.desktopStartupID.map(Value.string)
        return data
    }
}
