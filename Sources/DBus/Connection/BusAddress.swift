internal import CDBus

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

/// Why there is no connection to a bus.
public struct ConnectionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What libdbus says.
    public let reason: String

    /// The reason for a person.
    public var description: String { reason }

    static let outOfMemory = ConnectionError(reason: "out of memory")
}

extension BusAddress {
    /// Connects and introduces itself to the bus, blocking the thread while it does.
    ///
    /// The connection is the caller's own (libdbus calls it private): to be closed, then released.
    func connect() throws(ConnectionError) -> OpaquePointer {
        let connection = try withLibraryError { error -> OpaquePointer? in
            switch self {
            case .session: return dbus_bus_get_private(DBUS_BUS_SESSION, &error)
            case .system: return dbus_bus_get_private(DBUS_BUS_SYSTEM, &error)
            case .address(let address):
                guard !address.utf8.contains(0), let connection = dbus_connection_open_private(address, &error) else {
                    return nil
                }
                if dbus_bus_register(connection, &error) != 0 { return connection }
                dbus_connection_close(connection)
                dbus_connection_unref(connection)
                return nil
            }
        }
        // Otherwise libdbus ends the process when the bus goes away.
        dbus_connection_set_exit_on_disconnect(connection, 0)
        return connection
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
