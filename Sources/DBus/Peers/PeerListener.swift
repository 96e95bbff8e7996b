internal import CDBus
internal import Glibc
public import Reactor

/// A socket that other programs of the same user connect to, with no bus in between.
///
/// Whoever connects proves by the kernel's word (`EXTERNAL`) that it belongs to this user, and does so within five seconds;
/// anybody else is turned away. A connection without a bus calls and exports like any other. It has no names: destinations are nil, and so are senders,
/// as nobody vouches for what a message says about them.
///
/// A listener lives until ``close()``, whether or not somebody holds it.
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
    private let authenticationTime: Duration
    private var connections = 0
    private var hasAccepted = false
    private var isOpen = true

    /// Listens.
    ///
    /// - Parameters:
    ///   - address: `unix:path=…` for a socket of that name, `unix:dir=…` for one of a name that is free, in a directory
    ///     that only this user can reach.
    ///   - limits: how much each connection takes.
    ///   - maximumConnections: how many there may be at a time; more are turned away.
    ///   - authenticationTime: how long the other end has to prove who it is.
    ///   - accept: called on the event loop for each connection, before anything arrives on it; it exports what the
    ///     other end may call. The other end belongs to this user, by its socket, and has yet to say hello: if it never
    ///     does, the connection ends with ``ConnectionEnd/unauthenticated``.
    /// - Throws: ``ConnectionError`` with libdbus's own words when the socket cannot be made.
    public static func listen(
        at address: String,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        maximumConnections: Int = 256,
        authenticationTime: Duration = .seconds(5),
        accept: @escaping @Sendable (isolated Connection) -> Void
    ) async throws(ConnectionError) -> PeerListener {
        try await loop.run { () throws(ConnectionError) -> PeerListener in
            let raw = try withLibraryError { error in
                address.utf8.contains(0) ? nil : dbus_server_listen(address, &error)
            }
            let listener = PeerListener(raw, on: loop, limits, maximumConnections, authenticationTime) { connection in
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
        _ authenticationTime: Duration,
        accept: @escaping @Sendable (Connection) -> Void
    ) {
        self.raw = raw
        self.loop = loop
        self.limits = limits
        self.maximumConnections = maximumConnections
        self.authenticationTime = authenticationTime
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
        hasAccepted = true
        guard connections < maximumConnections, Credentials(of: pointer)?.uid == getuid() else { return }
        dbus_connection_ref(pointer)
        dbus_connection_set_unix_user_function(pointer, isSameUser, nil, nil)
        guard let connection = Connection.peer(pointer, on: loop, limits: limits) else { return }
        connections += 1
        accept(connection)
        connection.assumeIsolated { $0.endUnlessAuthenticated(within: authenticationTime) }
        Task {
            await connection.waitUntilClosed()
            connections -= 1
        }
    }

    /// How long a socket is left alone from which no connection could be taken.
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
        // Most likely the process has no descriptor left: whoever waits to be accepted would wake the loop without end.
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
