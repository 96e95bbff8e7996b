internal import CDBus
internal import CLinux
internal import Glibc

/// The address of a bus.
public enum BusAddress: Sendable, Hashable {
    /// The session bus: `DBUS_SESSION_BUS_ADDRESS`, or the platform's default.
    case session
    /// The system bus.
    case system
    /// A bus at an address in D-Bus's notation, such as `unix:path=/run/user/1000/bus`.
    ///
    /// With `unixexec:`, the address starts a program and exchanges messages through its standard input and output.
    /// libdbus never collects the exit status of that program, so it stays a zombie until this process ends. Ctrl-C
    /// does not reach it, so the connection can still be used to cancel a request.
    case address(String)
}

/// Why a connection could not be opened.
public struct ConnectionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The message, from libdbus or from this module.
    public let reason: String

    /// Same as ``reason``.
    public var description: String { reason }

    /// The other end did not answer within the caller's time limit.
    public static let timedOut = ConnectionError(reason: "no answer came in time")
    /// The task that opened the connection was cancelled.
    public static let cancelled = ConnectionError(reason: "opening the connection was cancelled")
    static let outOfMemory = ConnectionError(reason: "out of memory")
}

extension BusAddress {
    /// The address in D-Bus's notation, according to "Well-known Message Bus Instances" in the D-Bus specification.
    ///
    /// If the environment names no session bus, this is the address that systemd uses for the user's bus, as in
    /// libdbus.
    package var text: String {
        switch self {
        case .session: Self.variable("DBUS_SESSION_BUS_ADDRESS") ?? Self.userBus ?? Self.launching
        case .system: Self.variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/var/run/dbus/system_bus_socket"
        case .address(let address): address
        }
    }

    /// The address of a bus that libdbus starts, for a session under X11.
    static let launching = "autolaunch:"

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    /// Returns the address of the bus that systemd runs for this user, if the environment leads to another bus; nil if
    /// it leads to this bus, or if this bus does not exist. A shell that was started by `su` or `cron` does not know
    /// this address.
    ///
    /// - Parameter environment: returns the value of a variable.
    package static func missed(by environment: (String) -> String?) -> String? {
        let (named, directory) = (environment("DBUS_SESSION_BUS_ADDRESS"), environment("XDG_RUNTIME_DIR"))
        guard named != nil || directory == nil, let bus = userBus(in: directory ?? "/run/user/\(getuid())") else {
            return nil
        }
        return bus == named ? nil : bus
    }

    private static var userBus: String? { variable("XDG_RUNTIME_DIR").flatMap(userBus) }

    private static func userBus(in directory: String) -> String? {
        let path = directory + "/bus"
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == getuid() else {
            return nil
        }
        return "unix:path=" + escaped(path)
    }
}

/// Connects to an address in D-Bus's notation, which may also start a program.
///
/// The connection belongs to the caller, who has to close it and then release it; libdbus calls this a private
/// connection. `dbus_bus_get` is out of the question: if the bus goes away, libdbus ends a process that has such a
/// connection. This function blocks the thread while the other end has no room for another connection.
func connect(to address: String) throws(ConnectionError) -> OpaquePointer {
    // A new program inherits the thread's blocked signals.
    var (interrupt, before) = (sigset_t(), sigset_t())
    sigemptyset(&interrupt)
    if address.hasPrefix("unixexec:") { sigaddset(&interrupt, SIGINT) }
    pthread_sigmask(SIG_BLOCK, &interrupt, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    do throws(ConnectionError) {
        return try withLibraryError { error in
            address.utf8.contains(0) ? nil : dbus_connection_open_private(address, &error)
        }
    } catch {
        // libdbus's message is about X11, which is irrelevant to most sessions.
        guard address == BusAddress.launching, getenv("DISPLAY") == nil else { throw error }
        throw ConnectionError(reason: "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR leads to one")
    }
}

/// A socket whose other end has accepted this program.
struct AuthenticatedSocket {
    let socket: CInt
    /// Whether the other end accepts descriptors.
    let passesDescriptors: Bool
}

/// Waits until libdbus has authenticated, then takes its socket and releases its connection.
func authenticated(
    _ raw: OpaquePointer,
    _ deadline: ContinuousClock.Instant
) throws(ConnectionError) -> AuthenticatedSocket {
    defer {
        dbus_connection_close(raw)
        dbus_connection_unref(raw)
    }
    while dbus_connection_get_is_authenticated(raw) == 0 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw .timedOut }
        let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
        if dbus_connection_read_write(raw, CInt(clamping: milliseconds)) == 0 {
            throw ConnectionError(reason: "the other end closed the connection")
        }
    }
    // Nothing can be lost here: the other end sends nothing before the first call, so libdbus has read no message.
    var (socket, descriptor): (CInt, CInt) = (-1, -1)
    if dbus_connection_get_unix_fd(raw, &descriptor) != 0 { socket = fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    guard socket >= 0 else { throw ConnectionError(reason: String(cString: strerror(errno))) }
    let passesDescriptors = dbus_connection_can_send_type(raw, CInt(TypeCode.unixFD)) != 0
    return AuthenticatedSocket(socket: socket, passesDescriptors: passesDescriptors)
}

/// Connects to a socket, and stops waiting if the other end has no room for the connection in time.
///
/// - Returns: The socket, which no longer blocks.
func connectedSocket(_ path: String, within time: Duration) throws(ConnectionError) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
        let bytes = path.utf8
        guard !bytes.isEmpty, bytes.count < place.count, !bytes.contains(0) else { return false }
        place.copyBytes(from: bytes)
        return true
    }
    guard fits else { throw ConnectionError(reason: "the path cannot be used for a socket") }
    let socket = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw ConnectionError(reason: String(cString: strerror(errno))) }
    // Zero would mean no limit.
    let microseconds = min(Int(time.components.attoseconds / 1_000_000_000_000) + 1, 999_999)
    var limit = timeval(tv_sec: Int(clamping: time.components.seconds), tv_usec: microseconds)
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    let status = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    guard status == 0, fcntl(socket, F_SETFL, O_NONBLOCK) == 0 else {
        let code = errno
        close(socket)
        throw code == EAGAIN ? .timedOut : ConnectionError(reason: String(cString: strerror(code)))
    }
    return socket
}

/// Calls a function of libdbus, and throws the error that it sets. Each call gets a new error, because libdbus ends the
/// process if the error is already set.
func withLibraryError(_ body: (inout DBusError) -> OpaquePointer?) throws(ConnectionError) -> OpaquePointer {
    var error = DBusError()
    dbus_error_init(&error)
    defer { dbus_error_free(&error) }
    if let result = body(&error) { return result }
    throw ConnectionError(reason: error.message.map { String(cString: $0) } ?? "the address cannot be used")
}
