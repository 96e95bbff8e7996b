package import DBus

/// The manager of the user's units, with those members of systemd's interface that this package uses
/// (org.freedesktop.systemd1(5)).
package enum SystemdManager {
    /// The manager's name on the bus.
    package static let name: BusName = "org.freedesktop.systemd1"
    /// The manager, for a caller. The bus must not start it, because a session without systemd has no manager.
    package static let object = RemoteObject(name, "/org/freedesktop/systemd1", startsService: false)
    /// Name of the interface.
    package static let interface: InterfaceName = "org.freedesktop.systemd1.Manager"

    /// Variables that each unit gets, as `NAME=value`.
    package static let environment = Property<[String]>(interface, "Environment")
    /// Sets variables for each unit that starts from now on, as `NAME=value`.
    package static let setEnvironment = Method<[String], Empty>(interface, "SetEnvironment")
}
