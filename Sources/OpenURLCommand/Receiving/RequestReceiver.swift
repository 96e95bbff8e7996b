internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import URLOpener

/// The far side of a router's ssh session: takes requests from standard input, gives them to this machine's router, and writes
/// the outcomes to standard output.
///
/// It keeps nothing. If the session ends, the other router repeats what has no outcome, and this machine's router knows
/// which requests it has had.
actor RequestReceiver {
    private let loop: EventLoop
    private let connection: Connection
    /// The name of the host that sends; empty if none is proved.
    private let host: String
    private let source: CInt
    private let target: CInt
    private var input = HostFrames.Input()
    private var output: [UInt8] = []
    private var inputWatch: DescriptorWatch?
    private var outputWatch: DescriptorWatch?
    /// Number of requests without an outcome.
    private var count = 0
    private var end: CheckedContinuation<String?, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Number of requests without an outcome above which nothing is read. A router sends at most
    /// `HostsInterface.requestsInFlight`.
    private static let limit = 2 * HostsInterface.requestsInFlight
    /// Number of bytes of outcomes above which nothing is read, because the other side does not take them.
    private static let outputLimit = 256 << 10
    /// Number of bytes that are read at once.
    private static let chunk = 64 << 10

    init(_ connection: Connection, from host: String, _ source: CInt, _ target: CInt, on loop: EventLoop) {
        self.connection = connection
        self.host = host
        self.source = source
        self.target = target
        self.loop = loop
    }

    /// Serves until the other side ends the session.
    ///
    /// - Returns: nil, or the failure because of which the session had to end.
    func run() async -> CommandFailure? {
        do throws(CallError) {
            // From this call on, the router knows this program, so that it takes the requests in the order of their arrival.
            _ = try await connection.call(HostsInterface.list, on: RouterService.object, Empty())
        } catch {
            return CommandFailure(error, refusal: ExitStatus.failure)
        }
        for descriptor in [source, target] {
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }
        let problem: String? = await withCheckedContinuation { continuation in
            end = continuation
            inputWatch = loop.watch(source, for: .readable) { [unowned self] _ in assumeIsolated { $0.read() } }
            write(HostFrames.Hello(HostFrames.protocolName, Self.clock))
        }
        return problem.map { CommandFailure(.failed, $0, exitStatus: ExitStatus.failure) }
    }

    /// The time since this machine's start in milliseconds, including the time that it slept.
    private static var clock: UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        return UInt64(now.tv_sec) * 1000 + UInt64(now.tv_nsec) / 1_000_000
    }

    private func finish(_ problem: String?) {
        inputWatch?.cancel()
        outputWatch?.cancel()
        end?.resume(returning: problem)
        end = nil
    }

    // MARK: Requests

    private func read() {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, count in
            result = Glibc.read(source, buffer.baseAddress, Self.chunk)
            count = max(0, result)
        }
        if result < 0, errno == EAGAIN || errno == EINTR { return }
        if bytes.isEmpty { return finish(nil) }
        input.append(bytes)
        takeRequests()
    }

    private func takeRequests() {
        do throws(MessageDecodingError) {
            while hasRoom, let request = try input.next(HostFrames.Request.self) {
                count += 1
                // The requests reach the router in the order of their arrival.
                loop.startTaskImmediately { await self.handle(request) }
            }
        } catch {
            return finish("the other side sent something that is not a request: \(error)")
        }
        inputWatch?.isEnabled = hasRoom
    }

    private var hasRoom: Bool { count < Self.limit && output.count < Self.outputLimit }

    private func handle(_ message: HostFrames.Request) async {
        let (number, deadline, request) = message.values
        let outcome = await outcome(of: request, deadline)
        count -= 1
        write(HostFrames.Answer(number, outcome), orElse: HostFrames.Answer(number, outcome.shortened))
        takeRequests()
    }

    private func outcome(of asked: HostRequest, _ deadline: UInt64) async -> OpenOutcome {
        var request = asked
        request.options.lifetime = nil
        if deadline != 0 {
            let now = Self.clock
            guard now < deadline else {
                // This is no outcome: an earlier request may have brought the URL.
                return .failed(RemoteError(.failed, "the URL expired on its way"))
            }
            request.options.lifetime = .milliseconds(deadline - now)
        }
        do throws(CallError) {
            return .opened(
                try await connection.call(
                    HostsInterface.receive,
                    on: RouterService.object,
                    Arguments(host, request),
                    timeout: HostsInterface.outcomeTime + .seconds(10)
                )
            )
        } catch .remote(let error) {
            return .failed(error)
        } catch {
            return .failed(RemoteError(.noReply, "\(error)"))
        }
    }

    // MARK: Outcomes

    /// Writes a message, or a shorter one if the first is too large.
    private func write<Body: MessageBody>(_ body: Body, orElse shorter: Body? = nil) {
        do throws(MessageEncodingError) {
            output += try HostFrames.bytes(of: body)
        } catch {
            if let shorter { return write(shorter) }
            return finish("an outcome cannot be sent: \(error)")
        }
        write()
    }

    private func write() {
        while !output.isEmpty {
            let count = output.withUnsafeBytes { Glibc.write(target, $0.baseAddress, $0.count) }
            if count > 0 {
                output.removeFirst(count)
            } else if errno != EINTR {
                guard errno == EAGAIN else { return finish(nil) }
                break
            }
        }
        if output.isEmpty {
            outputWatch?.cancel()
            outputWatch = nil
        } else if outputWatch == nil, end != nil {
            outputWatch = loop.watch(target, for: .writable) { [unowned self] _ in assumeIsolated { $0.goOn() } }
        }
    }

    /// Writes outcomes that had to wait, and takes the requests that waited for them.
    private func goOn() {
        write()
        if end != nil { takeRequests() }
    }
}
