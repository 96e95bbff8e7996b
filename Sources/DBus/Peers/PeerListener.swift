internal import CDBus
internal import Glibc
public import Reactor

/// A socket that other programs of the same user connect to, with no bus in between.
///
/// Whoever connects proves by the kernel's word (`EXTERNAL`) that it belongs to this user; anybody else is turned away.
/// A connection without a bus calls and exports like any other. It has no names: destinations are nil, and so are senders,
/// as nobody vouches for what a message says about them.
public actor PeerListener {
    /// The event loop that carries the listener and the connections that it accepts.
    public nonisolated let loop: EventLoop
    /// What others connect to, in D-Bus's notation.
    public nonisolated let address: String
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let raw: OpaquePointer
    private let limits: ConnectionLimits
    private let maximumConnections: Int
    private let accept: @Sendable (Connection) -> Void
    private var watches = LibraryWatches()
    private var connections = 0
    private var isOpen = true

    /// Listens.
    ///
    /// - Parameters:
    ///   - address: `unix:path=…` for a socket of that name, `unix:dir=…` for one of a name that is free, in a directory
    ///     that only this user can reach.
    ///   - limits: how much each connection takes.
    ///   - maximumConnections: how many there may be at a time; more are turned away.
    ///   - accept: called on the event loop for each connection, before anything arrives on it; it exports what the
    ///     other end may call.
    /// - Throws: ``ConnectionError`` with libdbus's own words when the socket cannot be made.
    public static func listen(
        at address: String,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        maximumConnections: Int = 256,
        accept: @escaping @Sendable (isolated Connection) -> Void
    ) async throws(ConnectionError) -> PeerListener {
        try await loop.run { () throws(ConnectionError) -> PeerListener in
            let raw = try withLibraryError { error in
                address.utf8.contains(0) ? nil : dbus_server_listen(address, &error)
            }
            let listener = PeerListener(raw, on: loop, limits, maximumConnections) { connection in
                connection.assumeIsolated { accept($0) }
            }
            guard listener.assumeIsolated({ $0.attach() }) else { throw .outOfMemory }
            return listener
        }
    }

    private init(
        _ raw: OpaquePointer,
        on loop: EventLoop,
        _ limits: ConnectionLimits,
        _ maximumConnections: Int,
        accept: @escaping @Sendable (Connection) -> Void
    ) {
        self.raw = raw
        self.loop = loop
        self.limits = limits
        self.maximumConnections = maximumConnections
        self.accept = accept
        let text = dbus_server_get_address(raw)
        address = text.map { String(cString: $0) } ?? ""
        dbus_free(text)
    }

    /// Stops listening and removes the socket; connections that were accepted go on.
    public func close() {
        guard isOpen else { return }
        isOpen = false
        dbus_server_disconnect(raw)
        dbus_server_set_new_connection_function(raw, nil, nil, nil)
        dbus_server_set_watch_functions(raw, nil, nil, nil, nil, nil)
        watches.removeAll()
        dbus_server_unref(raw)
        // The reference that attach() took for libdbus.
        Unmanaged.passUnretained(self).release()
    }

    private func attach() -> Bool {
        let pointer = Unmanaged.passRetained(self).toOpaque()
        let external = strdup("EXTERNAL")
        defer { free(external) }
        var mechanisms = [UnsafePointer(external), nil]
        dbus_server_set_new_connection_function(raw, acceptConnection, pointer, nil)
        let isAttached =
            dbus_server_set_auth_mechanisms(raw, &mechanisms) != 0
            && dbus_server_set_watch_functions(raw, addWatch, removeWatch, toggleWatch, pointer, nil) != 0
        if !isAttached { close() }
        return isAttached
    }

    /// What is not referenced when this returns is closed by libdbus.
    fileprivate func accept(_ pointer: OpaquePointer) {
        guard connections < maximumConnections else { return }
        dbus_connection_ref(pointer)
        dbus_connection_set_unix_user_function(pointer, isSameUser, nil, nil)
        guard let connection = Connection.peer(pointer, on: loop, limits: limits) else { return }
        connections += 1
        accept(connection)
        Task {
            await connection.waitUntilClosed()
            connections -= 1
        }
    }

    fileprivate func add(_ watch: OpaquePointer) {
        let unchecked = LibraryPointer(pointer: watch)
        watches.add(watch, on: loop) { flags in dbus_watch_handle(unchecked.pointer, flags) }
    }

    fileprivate func remove(_ watch: OpaquePointer) { watches.remove(watch) }

    fileprivate func toggle(_ watch: OpaquePointer) { watches.toggle(watch) }
}

extension Connection {
    /// Connects to a ``PeerListener``, or to another program that listens without a bus.
    ///
    /// - Throws: ``ConnectionError`` when nobody listens there, or when it is another user who does.
    public static func open(
        peer address: String,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits()
    ) async throws(ConnectionError) -> Connection {
        try await loop.run { () throws(ConnectionError) -> Connection in
            let raw = try withLibraryError { error in
                address.utf8.contains(0) ? nil : dbus_connection_open_private(address, &error)
            }
            var descriptor: CInt = -1
            // A program that `unixexec:` started is this user's anyway, and its end of the socket was made here.
            if dbus_connection_get_socket(raw, &descriptor) != 0, let peer = Credentials(ofSocket: descriptor),
                peer.uid != getuid()
            {
                dbus_connection_close(raw)
                dbus_connection_unref(raw)
                throw ConnectionError(reason: "the socket belongs to another user")
            }
            guard let connection = peer(raw, on: loop, limits: limits) else { throw .outOfMemory }
            return connection
        }
    }

    /// Takes over a connection without a bus; nil when there is no memory, and it is closed.
    fileprivate static func peer(_ raw: OpaquePointer, on loop: EventLoop, limits: ConnectionLimits) -> Connection? {
        dbus_connection_set_exit_on_disconnect(raw, 0)
        dbus_connection_set_max_message_size(raw, limits.messageBytes)
        let connection = Connection(raw: LibraryPointer(pointer: raw), on: loop, limits: limits)
        return connection.assumeIsolated { $0.attach() } ? connection : nil
    }

    /// Who is at the other end of the socket: of a connection without a bus the other program, of any other the bus.
    ///
    /// The kernel noted it when the two were connected. Nil after the end, and where there is no socket.
    public var peerCredentials: Credentials? {
        var descriptor: CInt = -1
        guard state == .open, dbus_connection_get_socket(raw, &descriptor) != 0 else { return nil }
        return Credentials(ofSocket: descriptor)
    }
}

extension Credentials {
    fileprivate init?(ofSocket descriptor: CInt) {
        // struct ucred, which Swift does not see.
        var credentials: (pid: UInt32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        self.init(pid: credentials.pid, uid: credentials.uid, processDescriptor: nil)
    }
}

// MARK: libdbus's callbacks, all on the loop's thread

private func listener(_ data: UnsafeMutableRawPointer?) -> PeerListener? {
    data.map { Unmanaged<PeerListener>.fromOpaque($0).takeUnretainedValue() }
}

private let acceptConnection: DBusNewConnectionFunction = { _, connection, data in
    guard let connection, let listener = listener(data) else { return }
    let unchecked = LibraryPointer(pointer: connection)
    listener.assumeIsolated { $0.accept(unchecked.pointer) }
}

/// libdbus lets root in as well.
private let isSameUser: DBusAllowUnixUserFunction = { _, user, _ in user == UInt(getuid()) ? 1 : 0 }

private let addWatch: DBusAddWatchFunction = { watch, data in
    guard let watch, let listener = listener(data) else { return 0 }
    let unchecked = LibraryPointer(pointer: watch)
    listener.assumeIsolated { $0.add(unchecked.pointer) }
    return 1
}

private let removeWatch: DBusRemoveWatchFunction = { watch, data in
    guard let watch, let listener = listener(data) else { return }
    let unchecked = LibraryPointer(pointer: watch)
    listener.assumeIsolated { $0.remove(unchecked.pointer) }
}

private let toggleWatch: DBusWatchToggledFunction = { watch, data in
    guard let watch, let listener = listener(data) else { return }
    let unchecked = LibraryPointer(pointer: watch)
    listener.assumeIsolated { $0.toggle(unchecked.pointer) }
}
