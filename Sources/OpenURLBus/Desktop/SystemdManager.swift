package import DBus

/// The manager of the user's units: the members of systemd's interface that programs here use (org.freedesktop.systemd1(5)).
package enum SystemdManager {
    /// The manager's name on the bus.
    package static let name: BusName = "org.freedesktop.systemd1"
    /// The manager, for a caller. The bus must not start it: a session without systemd has none.
    package static let object = RemoteObject(name, "/org/freedesktop/systemd1", startsService: false)
    /// The name of the interface.
    package static let interface: InterfaceName = "org.freedesktop.systemd1.Manager"

    /// The variables that each unit gets, as `NAME=value`.
    package static let environment = Property<[String]>(interface, "Environment")
    /// Gives each unit that starts from now on variables, as `NAME=value`.
    package static let setEnvironment = Method<[String], Empty>(interface, "SetEnvironment")
}
