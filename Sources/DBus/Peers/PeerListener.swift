internal import CDBus
internal import CLinux
internal import Glibc
public import Reactor

/// A socket that the same user's other programs connect to, without a bus in between.
///
/// The kernel proves that a connecting program belongs to this user (`EXTERNAL` authentication). Other users' programs
/// are rejected, and so are programs that do not authenticate in time. libdbus only creates the socket.
///
/// A connection without a bus calls methods and exports objects like any other. But there are no names: destinations
/// and senders are nil, because nothing guarantees that the sender in a message is genuine. You can give the other end
/// a name (``Connection/namePeer(_:)``).
///
/// A listener lives until ``close()``, even if nothing refers to it any longer.
public actor PeerListener {
    /// The event loop on which the listener and the accepted connections run.
    public nonisolated let loop: EventLoop
    /// The address that other programs connect to, in D-Bus's notation.
    public nonisolated let address: String
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let raw: OpaquePointer
    private let limits: ConnectionLimits
    private let accounts: CallAccounts?
    private let maximumConnections: Int
    private let accept: @Sendable (Connection) -> Void
    /// The watch for programs that connect.
    private var watch: DescriptorWatch?
    /// The socket's identifier, sent during the authentication.
    private let id: String
    private let authenticationTime: Duration
    private var connections = 0
    private var isOpen = true

    /// Creates a listening socket.
    ///
    /// - Parameters:
    ///   - address: `unix:path=…` for a socket with that path, or `unix:dir=…` for a socket with an unused name in a
    ///     directory that only this user can reach.
    ///   - loop: The event loop on which the listener and the accepted connections run.
    ///   - limits: The limits of each connection.
    ///   - maximumConnections: The maximum number of connections at a time. Further ones are rejected.
    ///   - authenticationTime: The time limit for the other end to authenticate.
    ///   - connection: A connection on the same loop, whose limits for calls then apply to it and all accepted
    ///     connections together; nil if each connection has its own limits.
    ///   - accept: Called on the event loop for each connection, before a message arrives, to export the objects that
    ///     the other end may call. By then the socket shows that the other end belongs to this user, but it has not
    ///     authenticated yet. If it never does, the connection ends with ``ConnectionEnd/unauthenticated``.
    /// - Returns: The listener.
    /// - Throws: ``ConnectionError`` with libdbus's message if the socket cannot be created.
    public static func listen(
        at address: String,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        maximumConnections: Int = 256,
        authenticationTime: Duration = .seconds(5),
        sharingLimitsOf connection: Connection? = nil,
        accept: @escaping @Sendable (isolated Connection) -> Void
    ) async throws(ConnectionError) -> PeerListener {
        try await loop.run { () throws(ConnectionError) -> PeerListener in
            let raw = try withLibraryError { error in
                address.utf8.contains(0) ? nil : dbus_server_listen(address, &error)
            }
            guard let socket = socket(of: raw) else {
                dbus_server_disconnect(raw)
                dbus_server_unref(raw)
                throw .outOfMemory
            }
            let accounts = connection?.assumeIsolated { $0.server.calls.accounts }
            let listener = PeerListener(raw, on: loop, limits, accounts, maximumConnections, authenticationTime) {
                $0.assumeIsolated { accept($0) }
            }
            listener.assumeIsolated { $0.attach(socket) }
            return listener
        }
    }

    private init(
        _ raw: OpaquePointer,
        on loop: EventLoop,
        _ limits: ConnectionLimits,
        _ accounts: CallAccounts?,
        _ maximumConnections: Int,
        _ authenticationTime: Duration,
        accept: @escaping @Sendable (Connection) -> Void
    ) {
        self.raw = raw
        self.loop = loop
        self.limits = limits
        self.accounts = accounts
        self.maximumConnections = maximumConnections
        self.authenticationTime = authenticationTime
        self.accept = accept
        address = Self.text(dbus_server_get_address(raw))
        id = Self.text(dbus_server_get_id(raw))
    }

    /// Copies a string from libdbus, and frees the original.
    private static func text(_ text: UnsafeMutablePointer<CChar>?) -> String {
        defer { dbus_free(text) }
        return text.map { String(cString: $0) } ?? ""
    }

    /// Stops listening and removes the socket. Accepted connections continue.
    public func close() {
        guard isOpen else { return }
        isOpen = false
        watch?.cancel()
        watch = nil
        dbus_server_disconnect(raw)
        dbus_server_unref(raw)
    }

    /// Begins to accept connections. From now on the event loop keeps the listener alive, until ``close()``.
    private func attach(_ socket: CInt) {
        watch = loop.watch(socket, for: .readable) { [self] _ in assumeIsolated { $0.acceptConnection(socket) } }
    }

    private func acceptConnection(_ listening: CInt) {
        let socket = accept_nonblocking(listening)
        guard socket >= 0 else { return errno == EAGAIN || errno == ECONNABORTED ? () : pause() }
        // Reject other users before they authenticate. Otherwise their silent connections would count towards the
        // maximum until the time limit.
        guard connections < maximumConnections, Credentials(of: socket)?.uid == getuid() else {
            Glibc.close(socket)
            return
        }
        let input = InputBuffer(linesBefore: limits.receivedMessageBytes ?? limits.messageBytes)
        let established = EstablishedConnection(socket, passesDescriptors: false, uniqueName: nil, Serials(), input)
        let connection = Connection(established, on: loop, limits: limits, accounts: accounts)
        connection.assumeIsolated {
            $0.authentication = PeerAuthentication(id: id)
            $0.attach()
        }
        connections += 1
        accept(connection)
        connection.assumeIsolated { $0.endUnlessAuthenticated(within: authenticationTime) }
        Task {
            await connection.waitUntilClosed()
            connections -= 1
        }
    }

    /// How long to pause after an attempt that accepted no connection.
    private static let pauseTime = Duration.milliseconds(100)

    /// Stops accepting connections for a moment. Otherwise, the waiting connection would wake the loop again and again.
    /// Most likely, the process has no descriptor left.
    private func pause() {
        watch?.isEnabled = false
        loop.schedule(at: .now + Self.pauseTime) { self.assumeIsolated { $0.watch?.isEnabled = true } }
    }
}

/// Returns the socket on which a libdbus server listens. libdbus reveals it only through its watch.
private func socket(of server: OpaquePointer) -> CInt? {
    var socket: CInt = -1
    let note: DBusAddWatchFunction = { watch, data in
        data?.storeBytes(of: dbus_watch_get_unix_fd(watch), as: CInt.self)
        return 1
    }
    let isNoted = withUnsafeMutablePointer(to: &socket) { socket in
        defer { dbus_server_set_watch_functions(server, nil, nil, nil, nil, nil) }
        return dbus_server_set_watch_functions(server, note, { _, _ in }, { _, _ in }, socket, nil) != 0
    }
    return isNoted && socket >= 0 ? socket : nil
}
