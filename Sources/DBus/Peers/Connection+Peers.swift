internal import CDBus
internal import Glibc
public import Reactor

extension Connection {
    /// Connects to a ``PeerListener``, or to another program that listens without a bus.
    ///
    /// It returns when the other end has let this program in. What the other end sends before this program has exported
    /// something, or subscribed, reaches nobody.
    ///
    /// - Parameter timeout: how long to wait for the other end.
    /// - Throws: ``ConnectionError`` when nobody listens there, when it is another user who does or when the other end turns
    ///   this program away; ``ConnectionError/timedOut`` and ``ConnectionError/cancelled``.
    public static func open(
        peer address: String,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration = .seconds(25)
    ) async throws(ConnectionError) -> Connection {
        let connection = try await open(on: loop, limits, timeout) {
            () throws(ConnectionError) -> EstablishedConnection? in
            let established = try BlockingConnection(peer: address, timeout: timeout).handOver()
            if let established { dbus_connection_set_max_message_size(established.raw, limits.messageBytes) }
            return established
        }
        return connection
    }

    /// Takes over a connection that was accepted; nil when there is no memory, and it is closed.
    static func peer(_ raw: OpaquePointer, on loop: EventLoop, limits: ConnectionLimits) -> Connection? {
        dbus_connection_set_max_message_size(raw, limits.messageBytes)
        let connection = Connection(EstablishedConnection(raw: raw, uniqueName: nil), on: loop, limits: limits)
        return connection.assumeIsolated { $0.attach() } ? connection : nil
    }

    /// Gives the other end of an accepted connection time to prove who it is.
    func endUnlessAuthenticated(within time: Duration) {
        authenticationTimer = loop.schedule(at: .now + min(time, .longest)) { [weak self] in
            self?.assumeIsolated { connection in
                guard let raw = connection.raw, dbus_connection_get_is_authenticated(raw) == 0 else { return }
                connection.disconnect(.unauthenticated)
            }
        }
    }

    /// Forgets the time limit of an end that has proved who it is: a loop that waits for no time turns faster.
    func forgetAuthenticationTimer(_ timer: TimerID) {
        guard let raw, dbus_connection_get_is_authenticated(raw) != 0 else { return }
        loop.cancelTimer(timer)
        authenticationTimer = nil
    }

    /// Who is at the other end of the socket: of a connection without a bus the other program, of any other the bus.
    ///
    /// The kernel noted it when the two were connected. Nil after the end, and where there is no socket.
    public var peerCredentials: Credentials? {
        guard state == .open, let raw else { return nil }
        return Credentials(of: raw)
    }
}

extension Credentials {
    /// Who is at the other end of a connection's socket; nil where there is none.
    init?(of connection: OpaquePointer) {
        var descriptor: CInt = -1
        guard dbus_connection_get_socket(connection, &descriptor) != 0 else { return nil }
        // struct ucred, which Swift does not see.
        var credentials: (pid: UInt32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        self.init(pid: credentials.pid, uid: credentials.uid, processDescriptor: nil)
    }
}
