internal import CLinux
internal import Glibc
public import RFC1808

/// A server on this machine that waits for one request: the callback at the end of a sign-in (RFC 8252 section 7.3).
///
/// It listens on 127.0.0.1 and, if the machine has IPv6, on the same port of ::1. It answers a `GET` for one path from
/// one of this user's programs, and refuses everything else. The time (``time``) and the size of each request are
/// limited, as is the number of simultaneous connections (``connections``).
///
/// The server has no thread of its own. Watch ``descriptor``, and call ``process()`` when it is readable. Use the
/// server on one thread. The server stops when the last reference to it is gone.
public final class LoopbackServer {
    /// Readable when ``process()`` has something to do.
    public let descriptor: CInt
    /// The address of the callback, for use as `redirect_uri`.
    public let redirect: GenericURL

    private let request: LoopbackRequest
    private let isExpected: (GenericURL) -> Bool
    private let timer: CInt
    private var listeners: [CInt: LoopbackSocket.Family] = [:]
    private var open: [CInt: OpenConnection] = [:]
    /// The connection of the callback, as long as the browser has no answer. It has no time limit and is not watched.
    private var unanswered: CInt?
    /// When to accept connections again, if that has failed.
    private var pauseEnd: ContinuousClock.Instant?

    private struct OpenConnection {
        var bytes: [UInt8] = []
        let end: ContinuousClock.Instant
    }

    /// How long a request may take to arrive.
    public static let time = Duration.seconds(5)
    /// Maximum number of connections that are served at once. Any others wait.
    public static let connections = 16
    /// How long to pause after an attempt that accepted no connection.
    private static let pauseTime = Duration.milliseconds(100)

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - redirect: the address of the callback, such as `http://127.0.0.1/callback`. If it has no port, the server
    ///     uses a free one.
    ///   - isExpected: returns whether an address is the expected callback. The host and the path have already been
    ///     checked, but the `state`, for example, may be wrong.
    /// - Throws: ``LoopbackError`` if the address is not on this machine, if the port is taken, or if the address is
    ///   that of ::1 and the machine has no IPv6.
    public init(_ redirect: GenericURL, isExpected: @escaping (GenericURL) -> Bool) throws(LoopbackError) {
        let host = redirect.host.map { $0.lowercased() }
        guard redirect.lowercasedScheme == "http", let host, Self.hosts.contains(host), redirect.user == nil,
            redirect.fragment == nil
        else {
            throw LoopbackError(
                "\(redirect) is not an http: address of this machine, such as http://127.0.0.1/callback"
            )
        }
        let path = redirect.path.isEmpty ? "/" : String(redirect.path)
        let sockets = try Self.listen(redirect.port ?? 0, for: host)
        listeners = sockets.listeners
        self.isExpected = isExpected
        let query = redirect.query.map { "?\($0)" } ?? ""
        request = LoopbackRequest(path: path, hosts: Self.hosts(at: sockets.port))
        descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
        timer = timerfd_create(CLOCK_MONOTONIC, CInt(TFD_CLOEXEC | TFD_NONBLOCK))
        do throws(GenericURL.ParseError) {
            self.redirect = try GenericURL("http://\(host):\(sockets.port)\(path)\(query)")
        } catch {
            self.redirect = redirect
        }
        for socket in [timer] + listeners.keys { watch(socket) }
        guard descriptor >= 0, timer >= 0 else { throw LoopbackError("no file descriptor is left") }
    }

    private static let hosts = ["127.0.0.1", "[::1]", "localhost"]

    /// Returns the allowed values of the `Host` header. Browsers leave out the default port.
    static func hosts(at port: UInt16) -> Set<String> {
        Set(hosts.map { "\($0):\(port)" } + (port == 80 ? hosts : []))
    }

    deinit {
        confirm()
        for socket in Array(listeners.keys) + Array(open.keys) + [timer, descriptor] where socket >= 0 { close(socket) }
    }

    /// Listens on one port at both addresses.
    private static func listen(
        _ wanted: UInt16,
        for host: String
    ) throws(LoopbackError) -> (port: UInt16, listeners: [CInt: LoopbackSocket.Family]) {
        // Try again: a port that is free at one address may be taken at the other.
        for _ in 0..<16 {
            switch LoopbackSocket.listen(.v4, port: wanted) {
            case .failure(let error):
                throw LoopbackError("port \(wanted) on 127.0.0.1 cannot be used: \(error)")
            case .success(let first):
                guard let port = LoopbackSocket.port(of: first, .v4) else {
                    close(first)
                    throw LoopbackError("the kernel does not report the port")
                }
                switch LoopbackSocket.listen(.v6, port: port) {
                case .success(let second): return (port, [first: .v4, second: .v6])
                case .failure(let error) where error.number == EADDRINUSE && wanted == 0: close(first)
                case .failure(let error) where error.number == EADDRINUSE:
                    close(first)
                    throw LoopbackError("port \(port) on ::1 cannot be used: \(error)")
                case .failure(let error) where host == "[::1]":
                    close(first)
                    throw LoopbackError("::1 cannot be used: \(error)")
                // A machine without IPv6 has no ::1.
                case .failure: return (port, [first: .v4])
                }
            }
        }
        throw LoopbackError("no port is free at both 127.0.0.1 and ::1")
    }

    /// Does all pending work without waiting.
    ///
    /// With the callback, the server closes its port and all other connections, and the browser waits for ``confirm()``. Once
    /// it has its answer, the browser keeps the processors busy with the page, so a program in a hurry passes the callback on
    /// first.
    ///
    /// - Returns: the callback, once; nil before and after that.
    public func process() -> GenericURL? {
        var events = [epoll_event](repeating: epoll_event(), count: Self.connections + 3)
        let count = epoll_wait(descriptor, &events, CInt(events.count), 0)
        for event in events.prefix(Int(max(count, 0))) {
            let socket = event.data.fd
            if socket == timer {
                endLate()
            } else if let family = listeners[socket] {
                accept(socket, family)
            } else if let url = read(socket) {
                return url
            }
        }
        return nil
    }

    /// Shows in the browser that the callback has arrived. The server does so at the latest when it stops.
    public func confirm() {
        guard let socket = unanswered else { return }
        unanswered = nil
        answer(socket, .done)
    }

    private func watch(_ socket: CInt) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.fd = socket
        epoll_ctl(descriptor, EPOLL_CTL_ADD, socket, &event)
    }

    private func accept(_ listener: CInt, _ family: LoopbackSocket.Family) {
        let socket = accept_nonblocking(listener)
        guard socket >= 0 else { return errno == EAGAIN || errno == ECONNABORTED ? () : pause() }
        guard LoopbackSocket.isPeerOwn(socket, family) else {
            close(socket)
            return
        }
        open[socket] = OpenConnection(end: .now + Self.time)
        watch(socket)
        setTimer()
        // Listeners remain readable, so watch them again only when there is room.
        if open.count >= Self.connections { listen(false) }
    }

    /// Stops accepting connections for a moment. Otherwise, ``descriptor`` would stay readable. Most likely, the
    /// process has no descriptor left.
    private func pause() {
        pauseEnd = .now + Self.pauseTime
        listen(false)
        setTimer()
    }

    private func listen(_ isListening: Bool) {
        for listener in listeners.keys {
            if isListening { watch(listener) } else { epoll_ctl(descriptor, EPOLL_CTL_DEL, listener, nil) }
        }
    }

    /// Reads from a connection; returns the callback if it has arrived.
    private func read(_ socket: CInt) -> GenericURL? {
        guard open[socket] != nil else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        let count = recv(socket, &bytes, bytes.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { return nil }
        guard count > 0 else {
            end(socket)
            return nil
        }
        open[socket]?.bytes += bytes[..<count]
        switch request.verdict(on: open[socket]?.bytes ?? []) {
        case .incomplete: return nil
        case .refused(let response):
            answer(socket, response)
            return nil
        case .callback(let target):
            guard let url = callback(target) else {
                answer(socket, .badRequest)
                return nil
            }
            guard isExpected(url) else {
                answer(socket, .wrongState)
                return nil
            }
            unanswered = socket
            open[socket] = nil
            // The server does not read what else it sends.
            epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, nil)
            for listener in listeners.keys { close(listener) }
            listeners = [:]
            for other in open.keys { end(other) }
            setTimer()
            return url
        }
    }

    private func callback(_ target: String) -> GenericURL? {
        do throws(GenericURL.ParseError) {
            return try GenericURL("http://\(redirect.networkLocation ?? "")\(target)")
        } catch {
            return nil
        }
    }

    private func answer(_ socket: CInt, _ response: LoopbackResponse) {
        let bytes = response.bytes
        // The kernel's buffer for a new connection is larger than the answer.
        _ = send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
        shutdown(socket, CInt(SHUT_WR))
        end(socket)
    }

    private func end(_ socket: CInt) {
        let wasFull = open.count >= Self.connections
        open[socket] = nil
        close(socket)
        if wasFull { listen(true) }
        setTimer()
    }

    private func endLate() {
        var count: UInt64 = 0
        _ = Glibc.read(timer, &count, MemoryLayout<UInt64>.size)
        for socket in open.filter({ $0.value.end <= .now }).keys { end(socket) }
        if let pauseEnd, pauseEnd <= .now {
            self.pauseEnd = nil
            if open.count < Self.connections { listen(true) }
        }
        setTimer()
    }

    /// Sets the timer to the earliest of the connections' time limits, or to the end of the pause.
    private func setTimer() {
        var time = itimerspec()
        if let first = (open.values.map(\.end) + [pauseEnd].compactMap(\.self)).min() {
            let left = max(ContinuousClock.now.duration(to: first), .milliseconds(1)).components
            time.it_value = timespec(tv_sec: Int(left.seconds), tv_nsec: Int(left.attoseconds / 1_000_000_000))
        }
        timerfd_settime(timer, 0, &time, nil)
    }
}
