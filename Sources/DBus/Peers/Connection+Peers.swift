internal import CLinux
internal import Glibc
public import Reactor

extension Connection {
    /// Connects to a ``PeerListener``, or to another program that listens without a bus.
    ///
    /// It returns when the other end has accepted this program. Messages that arrive before you have exported objects
    /// or subscribed to signals are lost.
    ///
    /// - Parameters:
    ///   - address: The address in D-Bus's notation.
    ///   - loop: The event loop on which the connection runs.
    ///   - limits: The connection's limits.
    ///   - timeout: The time limit.
    /// - Throws: ``ConnectionError`` if no program listens at the address, if one listens but belongs to another user,
    ///   or if it rejects this program. Also ``ConnectionError/timedOut`` and ``ConnectionError/cancelled``.
    public static func open(
        peer address: String,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration = .seconds(25)
    ) async throws(ConnectionError) -> Connection {
        try await EstablishedConnection.connection(on: loop, limits, timeout) {
            () throws(ConnectionError) -> EstablishedConnection? in
            try BlockingConnection(peer: address, limits: limits, timeout: timeout).handOver()
        }
    }

    /// Connects to a program of this user that listens without a bus and gives this program a name, ``givenName``.
    ///
    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - hello: The method that returns the name.
    ///   - object: The object that has the method.
    ///   - loop: The event loop on which the connection runs.
    ///   - limits: The connection's limits.
    ///   - timeout: The time limit.
    package static func open(
        socket path: String,
        naming hello: Method<Empty, String>,
        on object: RemoteObject,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration
    ) async throws(ConnectionError) -> Connection {
        try await EstablishedConnection.connection(on: loop, limits, timeout) {
            () throws(ConnectionError) -> EstablishedConnection? in
            try BlockingConnection(socket: path, naming: hello, on: object, limits: limits, timeout: timeout).handOver()
        }
    }

    /// Names the other end of a connection without a bus, as a bus would.
    ///
    /// Its calls then have this name as their ``IncomingCall/sender``. Choose a name that no bus gives out. From now on
    /// the other end is treated like a connection to a bus: its calls continue when it has exited, and
    /// ``watchName(_:_:)`` reports its end.
    public func namePeer(_ name: BusName) {
        guard uniqueName == nil else { return }
        peerName = name
    }

    /// Counts the descriptors of messages that have not arrived completely towards an account.
    ///
    /// If the account would get more than its share of ``ConnectionLimits/descriptors`` in this way, the connection
    /// ends. Call this before a message arrives; otherwise, connections that share limits share one account. It has no
    /// effect on a bus.
    public func countArrivals(towards account: String) {
        arrivedDescriptors.setAccount(account)
    }

    /// Exports all objects that another connection of the same loop exports now.
    public func exportObjects(of other: Connection) {
        guard state == .open else { return }
        server.objects = other.assumeIsolated { $0.server.objects }
    }

    /// Ends an accepted connection if the other end does not authenticate in time.
    func endUnlessAuthenticated(within time: Duration) {
        authenticationTimer = loop.schedule(at: .now + min(time, .longest)) { [weak self] in
            self?.assumeIsolated { connection in
                if connection.authentication != nil { connection.disconnect(.unauthenticated) }
            }
        }
    }

    /// The credentials of the process at the other end of the socket; nil after the connection has ended, and if there
    /// is no socket.
    ///
    /// On a connection without a bus, that process is the other program; otherwise it is the bus. The kernel recorded
    /// the credentials when the socket was connected.
    ///
    /// If the process has exited, the credentials name no process. If it exits later, its number may come to belong to
    /// another process: ``Credentials/processDescriptor`` rules that out, from Linux 6.5 on.
    public var peerCredentials: Credentials? {
        guard state == .open else { return nil }
        return Credentials(of: socket)?.withProcess(of: socket)
    }

    /// Ends the connection once the messages that have arrived are handled, as if the other end had closed it now. It
    /// does so even if another process has a copy of the other end's socket.
    public func hangUp() {
        if state != .released { shutdown(socket, CInt(SHUT_RDWR)) }
    }

    /// Accepts messages up to ``ConnectionLimits/messageBytes`` from now on, instead of
    /// ``ConnectionLimits/receivedMessageBytes``.
    public func receiveLargeMessages() {
        input.limit = limits.messageBytes
    }
}

extension Credentials {
    /// Reads the credentials of the process at the other end of a socket; nil if the kernel has none.
    init?(of socket: CInt) {
        // This tuple has the layout of struct ucred, which Swift does not import.
        var credentials: (pid: UInt32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        self.init(pid: credentials.pid, uid: credentials.uid, processDescriptor: nil)
    }

    /// `SO_PEERPIDFD`, which is missing from the Glibc module.
    private static let peerDescriptor: CInt = 77

    /// Returns the credentials with a descriptor of the process, if the kernel gives one. If the process has exited,
    /// they name no process.
    func withProcess(of socket: CInt) -> Credentials {
        var process: CInt = -1
        var size = socklen_t(MemoryLayout.size(ofValue: process))
        guard getsockopt(socket, SOL_SOCKET, Self.peerDescriptor, &process, &size) == 0 else {
            return errno == ENOPROTOOPT ? self : Credentials(pid: nil, uid: uid)
        }
        let descriptor = UnixFD(owning: process)
        // A process's descriptor is readable once the process has ended.
        var ended = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        return Credentials(pid: poll(&ended, 1, 0) == 0 ? pid : nil, uid: uid, processDescriptor: descriptor)
    }
}
