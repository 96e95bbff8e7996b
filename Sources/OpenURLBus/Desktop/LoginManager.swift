package import DBus

/// systemd-logind on the system bus, with those members that the router uses (org.freedesktop.login1(5)).
package enum LoginManager {
    /// The manager's name on the system bus.
    package static let name: BusName = "org.freedesktop.login1"
    /// The manager, for a caller. The bus must not start it, because a system without logind has no login sessions.
    package static let object = RemoteObject(name, path, startsService: false)
    /// The manager's path.
    package static let path: ObjectPath = "/org/freedesktop/login1"
    /// Name of the manager's interface.
    package static let interface: InterfaceName = "org.freedesktop.login1.Manager"
    /// Name of a session's interface.
    package static let sessionInterface: InterfaceName = "org.freedesktop.login1.Session"

    /// Delays or blocks an operation until the descriptor is closed. The arguments are the operations, separated by
    /// colons, who does this, why, and `delay` or `block`.
    package static let inhibit = Method<Arguments<String, String, String, String>, UnixFD>(interface, "Inhibit")
    /// Returns the path of a session. For `auto`, this is the caller's session or, if it has none, the session in which
    /// its user is at the display.
    package static let getSession = Method<String, ObjectPath>(interface, "GetSession")

    /// True before the machine goes to sleep, and false after it has woken up.
    package static let prepareForSleep = Signal<Bool>(interface, "PrepareForSleep", arguments: ["start"])
    /// True before the machine shuts down, and false if it does not shut down after all.
    package static let prepareForShutdown = Signal<Bool>(interface, "PrepareForShutdown", arguments: ["start"])
    /// A session has begun.
    package static let sessionNew = Signal<Arguments<String, ObjectPath>>(
        interface,
        "SessionNew",
        arguments: ["session_id", "object_path"]
    )
    /// A session has ended.
    package static let sessionRemoved = Signal<Arguments<String, ObjectPath>>(
        interface,
        "SessionRemoved",
        arguments: ["session_id", "object_path"]
    )
    /// The session's screen is to be locked.
    package static let lock = Signal<Empty>(sessionInterface, "Lock")
    /// The session's screen is to be unlocked.
    package static let unlock = Signal<Empty>(sessionInterface, "Unlock")
    /// Whether the session's screen is locked, if the desktop says so.
    package static let lockedHint = Property<Bool>(sessionInterface, "LockedHint")
    /// The property that says whether nobody is using the session, if the desktop sets it.
    package static let idleHint = "IdleHint"
}
