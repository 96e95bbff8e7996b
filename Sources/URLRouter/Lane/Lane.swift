internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import UserFiles

/// The lane: a socket over which the user's programs reach the router without the bus, and the router reaches handlers.
///
/// Like a connection to a bus, each connection over the lane has a unique name, and everything that the router knows
/// about callers, rights and limits applies to it. The kernel reports which process is at the other end.
///
/// A handler offers its connection. The router uses it as long as the same process owns the handler's name on the bus,
/// because only the bus decides who the handler is.
final class Lane: Sendable {
    /// A program's connection.
    private struct Socket {
        /// The connection's number, in the order in which connections were opened.
        let number: UInt64
        let connection: Connection
        let credentials: Credentials
        /// The process at the other end when it connected; nil if it had exited.
        let process: ProcessIdentity?
        /// The path of its program, towards which the connection counts.
        let program: String
        /// Handlers whose calls the program wants to receive here.
        var offers: Set<BusName> = []
    }

    private struct State {
        var listener: PeerListener?
        var lastNumber: UInt64 = 0
        var sockets: [BusName: Socket] = [:]
        /// Connections of each program.
        var connections: Shares<String>
        /// For each handler that is reached over the lane, its name there, by its unique name on the bus.
        var handlers: [BusName: BusName] = [:]
    }

    /// Maximum number of connections at a time. One program gets at most half of those that the others leave; without a
    /// connection, it uses the bus. Each connection may make the router keep a message that has not arrived completely.
    static let connections = 256
    /// Maximum number of handlers for which one connection may offer itself.
    private static let offersPerConnection = 16

    /// Limits at the router's end. No program gets more memory for a message than for a call's arguments, but an
    /// attached handler's answers may be larger.
    private static let limits: ConnectionLimits = {
        var limits = ConnectionLimits()
        limits.receivedMessageBytes = RouterLane.callBytes
        return limits
    }()

    private let bus: Connection
    private let state: Lock<State>

    /// Creates a lane beside the router's connection to the bus. It has no socket yet.
    init(beside bus: Connection, connections: Int = connections) {
        self.bus = bus
        state = Lock(State(connections: Shares(limit: connections)))
    }

    // MARK: The socket

    /// Starts to listen. Each program that connects can use the objects that the connection to the bus exports now.
    ///
    /// - Parameters:
    ///   - path: the path of the socket; nil if there is nowhere to create one.
    ///   - offered: called on the event loop when a program has offered its connection for the handler with the given
    ///     name.
    /// - Throws: the reason in words, if the socket has a path but cannot be created there.
    func listen(
        at path: String? = LaneAddress.path(for: .session),
        _ offered: @escaping @Sendable (BusName) -> Void
    ) async throws {
        guard let path else { return }
        // The directory holds the socket and belongs only to the user.
        _ = try PrivateDirectory(String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]), isMade: true)
        let listener = try await PeerListener.listen(
            at: LaneAddress.address(ofPath: path),
            on: bus.loop,
            limits: Self.limits,
            maximumConnections: state.withLock { $0.connections.limit },
            sharingLimitsOf: bus
        ) { [unowned self] in
            accept($0, offered)
        }
        // By default, libdbus lets everyone connect, and leaves protection to the directory.
        chmod(path, 0o600)
        state.withLock { $0.listener = listener }
    }

    private func accept(_ connection: isolated Connection, _ offered: @escaping @Sendable (BusName) -> Void) {
        let (credentials, process) = Self.process(at: connection)
        let program = process.flatMap { ProcessProgram.shownPath(pid: $0.pid) } ?? ""
        let name: BusName? = state.withLock { state in
            guard state.connections.refusal(of: program, 1) == nil else { return nil }
            state.connections.add(1, to: program)
            state.lastNumber += 1
            let name = BusName(lane: state.lastNumber)
            state.sockets[name] = Socket(
                number: state.lastNumber,
                connection: connection,
                credentials: credentials,
                process: process,
                program: program
            )
            return name
        }
        guard let name else { return connection.hangUp() }
        connection.namePeer(name)
        connection.countArrivals(towards: program)
        connection.exportObjects(of: bus)
        connection.export([LaneObject.interface(self, name, offered)], at: LaneInterface.path)
        connection.loop.startTask {
            await connection.waitUntilClosed()
            self.remove(name)
        }
    }

    /// Finds the process at the other end of a connection; nil if it has exited, or if its process ID may belong to
    /// another process.
    private static func process(at connection: isolated Connection) -> (Credentials, ProcessIdentity?) {
        let peer = connection.peerCredentials
        let gone = Credentials(pid: nil, uid: peer?.uid)
        guard let peer, let pid = peer.pid else { return (gone, nil) }
        let process = ProcessIdentity(pid: pid)
        if let descriptor = peer.processDescriptor {
            let isRunning = pidfd_send_signal(descriptor.rawValue, 0, nil, 0) == 0
            return isRunning ? (peer, process) : (gone, nil)
        }
        // An older kernel reports only the process ID.
        let descriptor = pidfd_open(CInt(bitPattern: pid), 0)
        guard descriptor >= 0 else { return (gone, nil) }
        return (Credentials(pid: pid, uid: peer.uid, processDescriptor: UnixFD(owning: descriptor)), process)
    }

    private func remove(_ name: BusName) {
        state.withLock { state in
            if let socket = state.sockets.removeValue(forKey: name) {
                state.connections.remove(1, from: socket.program)
            }
            state.handlers = state.handlers.filter { $0.value != name }
        }
    }

    /// Refuses further calls and connections. Calls that have arrived continue.
    func refuseMore() async {
        let (listener, sockets) = state.withLock { ($0.listener, $0.sockets) }
        await listener?.close()
        for socket in sockets.values { await socket.connection.unexportAll() }
    }

    /// Returns as soon as every call that has arrived is answered, apart from those of programs that do not read.
    func waitUntilAnswered() async {
        await forEachConnection { await $0.waitUntilAnswered() }
    }

    func close() async {
        await forEachConnection { await $0.close() }
    }

    /// Does something with all connections at the same time, because each program that does not read takes a while.
    private func forEachConnection(_ body: @escaping @Sendable (Connection) async -> Void) async {
        let connections = state.withLock { $0.sockets.values.map(\.connection) }
        await withDiscardingTaskGroup { group in
            for connection in connections { group.addTask { await body(connection) } }
        }
    }

    // MARK: Programs

    /// Returns the connection with a name on the lane, or the connection to the bus for any other name; nil if the
    /// connection over the lane has ended.
    func connection(of name: BusName) -> Connection? {
        name.isOnLane ? state.withLock { $0.sockets[name]?.connection } : bus
    }

    /// Returns the process at the other end of a connection over the lane; nil if the connection has ended.
    func credentials(of name: BusName) -> Credentials? {
        state.withLock { $0.sockets[name]?.credentials }
    }

    // MARK: Handlers

    /// Notes that a program wants to receive a handler's calls over its connection.
    ///
    /// - Throws: `limitsExceeded` for too many handlers.
    func offer(_ id: BusName, at name: BusName) throws(OpenURLError) {
        let isTaken = state.withLock { state in
            guard let offers = state.sockets[name]?.offers else { return true }
            guard offers.count < Self.offersPerConnection || offers.contains(id) else { return false }
            state.sockets[name]?.offers.insert(id)
            return true
        }
        guard isTaken else {
            throw OpenURLError(.limitsExceeded, "a connection can offer at most \(Self.offersPerConnection) handlers")
        }
    }

    /// From now on, reaches a handler over the connection that its process has offered, if there is one. Any other
    /// connection over which the process was reached ends, because it could make the router keep large messages too.
    ///
    /// - Parameters:
    ///   - owner: the handler's unique name on the bus.
    ///   - process: the handler's process.
    func attach(_ id: BusName, at owner: BusName, _ process: ProcessIdentity) {
        let (connection, replaced): (Connection?, [Connection]) = state.withLock { state in
            // The router may not know yet that an earlier connection has ended.
            let offering = state.sockets.filter { $0.value.process == process && $0.value.offers.contains(id) }
            guard let (name, socket) = offering.max(by: { $0.value.number < $1.value.number }) else { return (nil, []) }
            // Each process has one connection to the bus for all its handlers.
            let earlier = Set(state.handlers.values.filter { state.sockets[$0]?.process == process })
            state.handlers = state.handlers.filter { !earlier.contains($0.value) }
            state.handlers[owner] = name
            return (socket.connection, earlier.filter { $0 != name }.compactMap { state.sockets[$0]?.connection })
        }
        connection?.assumeIsolated { $0.receiveLargeMessages() }
        for connection in replaced { connection.assumeIsolated { $0.hangUp() } }
    }

    /// Ends a handler's connection because its process has exited but a child may have kept the connection. Answers
    /// that have already arrived are handled first.
    func detach(_ owner: BusName) {
        let connection = state.withLock { state in state.handlers[owner].flatMap { state.sockets[$0]?.connection } }
        connection?.assumeIsolated { $0.hangUp() }
    }

    /// Returns the connection to a handler: the lane's if it is attached, otherwise the bus's.
    func connection(toHandlerAt owner: BusName) -> Connection {
        state.withLock { state in state.handlers[owner].flatMap { state.sockets[$0]?.connection } } ?? bus
    }

    /// If a handler calls over the lane, returns its unique name on the bus; for any other caller, returns the name
    /// itself.
    func busName(of caller: BusName) -> BusName {
        guard caller.isOnLane else { return caller }
        return state.withLock { $0.handlers.first { $0.value == caller }?.key } ?? caller
    }
}

extension BusName {
    /// No bus gives out a name with this prefix.
    private static let lanePrefix = ":lane."

    fileprivate init(lane number: UInt64) {
        self.init(stringLiteral: "\(Self.lanePrefix)\(number)")
    }

    /// Whether a name belongs to a connection over the lane.
    var isOnLane: Bool { rawValue.utf8.starts(with: Self.lanePrefix.utf8) }
}
