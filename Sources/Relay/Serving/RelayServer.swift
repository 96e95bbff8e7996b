internal import CLinux
internal import Glibc
internal import OpenURLBus
package import Reactor

/// Answers the requests that arrive at a share's socket.
///
/// A connection has one request. A far side can therefore neither reorder anything nor keep a connection busy, and whatever
/// follows the request ends it. All amounts and times are limited (``ShareLimits``), and what the far side may do is the
/// router's decision.
package actor RelayServer {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let loop: EventLoop
    private let socket: CInt
    private let limits: ShareLimits
    private let work: RelayWork
    private let peers: SharePeers
    private var check: PeerCheck
    private var watch: DescriptorWatch?
    /// The open connections by their numbers. A number is never used again, unlike a descriptor.
    private var connections: [UInt64: RelayConnection] = [:]
    private var lastNumber: UInt64 = 0
    private var waits = 0

    /// - Parameters:
    ///   - socket: a socket that listens. It now belongs to the server.
    ///   - peers: the processes that may connect.
    ///   - router: the router behind the share.
    package init(
        _ socket: CInt,
        for peers: SharePeers,
        _ router: any RelayedRouter,
        on loop: EventLoop,
        _ limits: ShareLimits = ShareLimits()
    ) {
        self.loop = loop
        self.socket = socket
        self.limits = limits
        work = RelayWork(router: router, loop: loop, limits: limits)
        self.peers = peers
        check = PeerCheck(peers)
    }

    deinit {
        close(socket)
    }

    /// Begins to accept connections, and does so until ``stop()``.
    package func start() {
        watch = loop.watch(socket, for: .readable) { [unowned self] _ in assumeIsolated { $0.accept() } }
    }

    /// Ends all connections, and what they wait for.
    package func stop() {
        watch?.cancel()
        watch = nil
        for number in Array(connections.keys) { end(number) }
    }

    private func accept() {
        let descriptor = accept_nonblocking(socket)
        guard descriptor >= 0 else {
            if errno != EAGAIN, errno != ECONNABORTED { pause() }
            return
        }
        guard connections.count < limits.connections, let peer = Peer(of: descriptor), check.accepts(peer) else {
            close(descriptor)
            return
        }
        lastNumber += 1
        let number = lastNumber
        let connection = RelayConnection(descriptor)
        // A request through ssh comes from another machine, though ssh itself runs here.
        connection.needsServer = peers == .descendants || !peer.sharesNetwork
        connections[number] = connection
        connection.watch = loop.watch(descriptor, for: .readable) { [unowned self] _ in
            assumeIsolated { $0.read(number) }
        }
        connection.timer = loop.schedule(at: .now + limits.requestTime) { [weak self] in
            self?.assumeIsolated { $0.end(number) }
        }
    }

    /// How long to pause if no descriptor is left. Otherwise, the waiting connection would wake the loop again and again.
    private static let pauseTime = Duration.milliseconds(100)

    private func pause() {
        watch?.isEnabled = false
        loop.schedule(at: .now + Self.pauseTime) { [weak self] in self?.assumeIsolated { $0.watch?.isEnabled = true } }
    }

    private func read(_ number: UInt64) {
        guard let connection = connections[number] else { return }
        switch connection.read() {
        case .incomplete: break
        case .ended: end(number)
        case .request(let request): begin(request, connection, number)
        }
    }

    private func begin(_ request: RelayRequest, _ connection: RelayConnection, _ number: UInt64) {
        if let timer = connection.timer { loop.cancelTimer(timer) }
        connection.timer = nil
        let needsServer = connection.needsServer
        let isWait = request.verb == .callback || needsServer && SignIn(endingIn: request) != nil
        guard !isWait || waits < limits.waits else {
            connection.write(RelayReply(OpenURLError(.limitsExceeded, "\(waits) programs already wait for callbacks")))
            return end(number)
        }
        if isWait { waits += 1 }
        connection.isWait = isWait
        connection.task = loop.startTask { await self.perform(request, number, needsServer: needsServer) }
    }

    private func perform(_ request: RelayRequest, _ number: UInt64, needsServer: Bool) async {
        do throws(OpenURLError) {
            try await work.perform(request, needsServer: needsServer) { connections[number]?.write($0) }
        } catch {
            connections[number]?.write(RelayReply(error))
        }
        end(number)
    }

    private func end(_ number: UInt64) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        if connection.isWait { waits -= 1 }
        if let timer = connection.timer { loop.cancelTimer(timer) }
        connection.close()
    }
}
