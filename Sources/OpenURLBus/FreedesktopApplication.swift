public import DBus

/// `org.freedesktop.Application`: how the desktop reaches a program over the bus ("D-Bus Activation", desktop entry
/// specification). A handler exports it too, so that it works where there is no router.
public enum FreedesktopApplication {
    /// The interface's name.
    public static let name: InterfaceName = "org.freedesktop.Application"

    /// Starts the program without a URL.
    public static let activate = Method<[String: Value], Empty>(name, "Activate", inputs: ["platform_data"])
    /// Opens URLs.
    public static let open = Method<Arguments<[String], [String: Value]>, Empty>(
        name,
        "Open",
        inputs: ["uris", "platform_data"]
    )
}
