internal import CDBus
internal import Glibc

/// Which bus to connect to.
public enum BusAddress: Sendable, Hashable {
    /// The session's bus: `DBUS_SESSION_BUS_ADDRESS`, or what the platform puts in its place.
    case session
    /// The system's bus.
    case system
    /// A bus at an address in D-Bus's notation, such as `unix:path=/run/user/1000/bus`.
    ///
    /// `unixexec:` starts a program that carries the messages over its standard input and output. libdbus never collects
    /// that program's process: it stays a zombie until this one ends.
    case address(String)
}

/// Why there is no connection.
public struct ConnectionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What libdbus says, or this module.
    public let reason: String

    /// The reason for a person.
    public var description: String { reason }

    /// The other end did not answer within the time that the caller gave.
    public static let timedOut = ConnectionError(reason: "no answer came in time")
    /// The task that opened the connection was cancelled.
    public static let cancelled = ConnectionError(reason: "opening the connection was cancelled")
    static let outOfMemory = ConnectionError(reason: "out of memory")
}

extension BusAddress {
    /// The address in D-Bus's notation, by the specification's "Well-known Message Bus Instances" and, as libdbus does it,
    /// systemd's place for the user's bus where the environment names none.
    var text: String {
        switch self {
        case .session: Self.variable("DBUS_SESSION_BUS_ADDRESS") ?? Self.userBus ?? "autolaunch:"
        case .system: Self.variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/var/run/dbus/system_bus_socket"
        case .address(let address): address
        }
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    private static var userBus: String? {
        guard let directory = variable("XDG_RUNTIME_DIR") else { return nil }
        let path = directory + "/bus"
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == getuid() else {
            return nil
        }
        return "unix:path=" + escaped(path)
    }
}

/// Opens a socket, or starts a program, at an address in D-Bus's notation.
///
/// The connection is the caller's own (libdbus calls it private): to be closed, then released. The thread is blocked while
/// the other end has no room for one more connection.
func connect(to address: String) throws(ConnectionError) -> OpaquePointer {
    try withLibraryError { error in
        address.utf8.contains(0) ? nil : dbus_connection_open_private(address, &error)
    }
}

/// Gives a function of libdbus a fresh error to fill (an error that is set already ends the process), and throws it.
func withLibraryError(_ body: (inout DBusError) -> OpaquePointer?) throws(ConnectionError) -> OpaquePointer {
    var error = DBusError()
    dbus_error_init(&error)
    defer { dbus_error_free(&error) }
    if let result = body(&error) { return result }
    throw ConnectionError(reason: error.message.map { String(cString: $0) } ?? "the address cannot be used")
}
