internal import CDBus
internal import Glibc
public import Reactor

/// A socket to which other programs of the same user connect, without a bus in between.
///
/// The kernel proves that a connecting program belongs to this user (`EXTERNAL` authentication). Programs of other
/// users are rejected, and so are programs that do not authenticate in time.
///
/// A connection without a bus calls methods and exports objects like any other connection. Such a connection has no
/// names: destinations and senders are nil, because nothing guarantees the sender that a message claims. The program may give
/// the other end a name (``Connection/namePeer(_:)``).
///
/// A listener lives until ``close()``, even if no reference to the listener is left.
public actor PeerListener {
    /// The event loop that carries the listener and the accepted connections.
    public nonisolated let loop: EventLoop
    /// The address for other programs, in D-Bus's notation.
    public nonisolated let address: String
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let raw: OpaquePointer
    private let limits: ConnectionLimits
    private let accounts: CallAccounts?
    private let maximumConnections: Int
    private let accept: @Sendable (Connection) -> Void
    private var watches = LibraryWatches()
    private let authenticationTime: Duration
    private var connections = 0
    private var hasAccepted = false
    private var isOpen = true

    /// Creates a listening socket.
    ///
    /// - Parameters:
    ///   - address: `unix:path=…` for a socket with that path, or `unix:dir=…` for a socket with an unused name in a
    ///     directory that only this user can reach.
    ///   - loop: The event loop that carries the listener and the accepted connections.
    ///   - limits: The limits of each connection.
    ///   - maximumConnections: The largest number of connections at a time. More connections are rejected.
    ///   - authenticationTime: The time limit for the other end to authenticate.
    ///   - connection: A connection on the same loop, whose limits for calls then hold for it and all accepted connections
    ///     together; nil for limits of each connection alone.
    ///   - accept: A closure that is called on the event loop for each connection, before a message arrives. The
    ///     closure exports the objects that the other end may call. The socket shows that the other end belongs to this
    ///     user, but the other end has not authenticated yet. Without authentication, the connection ends with
    ///     ``ConnectionEnd/unauthenticated``.
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
            let accounts = connection?.assumeIsolated { $0.incomingCalls.accounts }
            let listener = PeerListener(raw, on: loop, limits, accounts, maximumConnections, authenticationTime) {
                $0.assumeIsolated { accept($0) }
            }
            guard listener.assumeIsolated({ $0.attach() }) else { throw .outOfMemory }
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
        let text = dbus_server_get_address(raw)
        address = text.map { String(cString: $0) } ?? ""
        dbus_free(text)
    }

    /// Stops listening and removes the socket. Accepted connections continue.
    public func close() {
        guard isOpen else { return }
        isOpen = false
        dbus_server_disconnect(raw)
        dbus_server_set_new_connection_function(raw, nil, nil, nil)
        dbus_server_set_watch_functions(raw, nil, nil, nil, nil, nil)
        watches.removeAll()
        dbus_server_unref(raw)
        // This call balances the reference that attach() took for libdbus.
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

    /// Accepts or rejects a connection. libdbus closes a connection to which no reference is left when this method
    /// returns.
    fileprivate func accept(_ pointer: OpaquePointer) {
        hasAccepted = true
        // Other users are rejected before authentication. Otherwise their silent connections would count towards the
        // maximum until the time limit.
        guard connections < maximumConnections, Credentials(of: pointer)?.uid == getuid() else { return }
        dbus_connection_ref(pointer)
        dbus_connection_set_unix_user_function(pointer, isSameUser, nil, nil)
        guard let connection = Connection.peer(pointer, on: loop, limits: limits, accounts: accounts) else { return }
        connections += 1
        accept(connection)
        connection.assumeIsolated { $0.endUnlessAuthenticated(within: authenticationTime) }
        Task {
            await connection.waitUntilClosed()
            connections -= 1
        }
    }

    /// The pause after an attempt that accepted no connection.
    private static let pause = Duration.milliseconds(100)

    fileprivate func add(_ watch: OpaquePointer) {
        let unchecked = LibraryPointer(pointer: watch)
        let handle: @Sendable (UInt32) -> Void = { [unowned self] flags in
            assumeIsolated { $0.handle(unchecked, flags) }
        }
        watches.add(watch, on: loop, handle)
    }

    private func handle(_ watch: LibraryPointer, _ flags: UInt32) {
        hasAccepted = false
        dbus_watch_handle(watch.pointer, flags)
        guard isOpen, !hasAccepted else { return }
        // Most likely the process has no descriptor left. Without the pause, the waiting connection would wake the loop
        // again and again.
        watches.pause(watch.pointer)
        let resume: @Sendable () -> Void = { self.assumeIsolated { $0.watches.toggle(watch.pointer) } }
        loop.schedule(at: .now + Self.pause, resume)
    }

    fileprivate func remove(_ watch: OpaquePointer) { watches.remove(watch) }

    fileprivate func toggle(_ watch: OpaquePointer) { watches.toggle(watch) }
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

/// Replaces libdbus's own check, which also accepts root.
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
