internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// One session of ssh, whose program on the other host is `openurl receive`.
///
/// Requests go out in the order in which they are sent, and their answers come in any order. When the session ends, for
/// whatever reason, every request without an answer gets ``HostReply/none(_:)``. It belongs to the router's actor.
final class SSHSession {
    private let host: HostName
    private let loop: EventLoop
    private var process: ProcessHandle?
    /// This end of the socket that is ssh's standard input and output; -1 once the session has ended.
    private var socket: CInt
    /// This end of the pipe that is ssh's standard error.
    private var errors: CInt
    private var watch: DescriptorWatch?
    private var errorsWatch: DescriptorWatch?
    /// The end of what ssh has printed on its standard error.
    private var words: [UInt8] = []
    private var input = HostFrames.Input()
    private var output: [UInt8] = []
    private var answers: [UInt32: CheckedContinuation<HostReply, Never>] = [:]
    private var lastNumber: UInt32 = 0
    private let silence: RestartableTimer
    /// The far machine's clock when its first message arrived here, and this machine's clock at that moment; nil before.
    private var clocks: (far: UInt64, here: ContinuousClock.Instant)?
    private var isEnded = false
    /// Called once, when the far side has spoken.
    private let opened: () -> Void
    /// Called once, with the reason, when the session has ended.
    private let ended: (String) -> Void

    /// How long the far side may take for its first message: ssh has to connect and to authenticate.
    private static let greetingTime = Duration.seconds(45)
    /// How long the far side may take for an answer. It answers after `HostsInterface.outcomeTime` even if it has no outcome.
    private static let answerTime = HostsInterface.outcomeTime + .seconds(25)
    /// Number of bytes that are read at once.
    private static let chunk = 64 << 10
    /// Number of bytes of ssh's own words that are kept.
    private static let errorBytes = 1024

    /// Number of requests without an answer.
    var count: Int { answers.count }

    private init(
        _ host: HostName,
        _ ends: Ends,
        on loop: EventLoop,
        opened: @escaping () -> Void,
        ended: @escaping (String) -> Void
    ) {
        self.host = host
        self.loop = loop
        socket = ends.socket
        errors = ends.errors
        self.opened = opened
        self.ended = ended
        silence = RestartableTimer(on: loop)
    }

    // MARK: Start

    /// This process's ends of ssh's streams.
    private struct Ends {
        let socket: CInt
        let errors: CInt
    }

    /// Starts ssh.
    ///
    /// With systemd, ssh is a service of its own, because the router's service has no access to the network.
    ///
    /// - Parameters:
    ///   - destination: ssh's word for the host.
    ///   - environment: the variables of the session.
    /// - Returns: the session, or in words why ssh cannot be started.
    static func start(
        _ host: HostName,
        _ destination: String,
        _ environment: [String: String],
        with launcher: HandlerLauncher,
        opened: @escaping () -> Void,
        ended: @escaping (String) -> Void
    ) async -> Result<SSHSession, OpenURLError> {
        var pair: [CInt] = [-1, -1]
        var pipe: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            return .failure(failure(.refused(Errno(rawValue: errno))))
        }
        guard pipe2(&pipe, O_CLOEXEC) == 0 else {
            let error = Errno(rawValue: errno)
            for end in pair { Glibc.close(end) }
            return .failure(failure(.refused(error)))
        }
        let near = Ends(socket: pair[0], errors: pipe[0])
        // ssh's ends still block, as it expects.
        for end in [near.socket, near.errors] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        let far = UnixFD(owning: pair[1])
        let start = ProgramStart(
            program: .nameOnPath("ssh"),
            arguments: ["ssh"] + arguments(for: destination),
            environment: environment,
            input: far,
            output: far,
            errors: UnixFD(owning: pipe[1])
        )
        let session = SSHSession(host, near, on: launcher.loop, opened: opened, ended: ended)
        do throws(ProgramStart.Failure) {
            session.process = try await launcher.launch("ssh", start, within: startTime) { session.exited($0) }
            session.attach()
            return .success(session)
        } catch {
            session.close()
            return .failure(failure(error))
        }
    }

    /// How long the file systems on `PATH` may take to provide ssh.
    private static let startTime = Duration.seconds(5)

    private static func failure(_ error: ProgramStart.Failure) -> OpenURLError {
        OpenURLError(.launchFailed, "ssh cannot be started: \(error)")
    }

    /// The arguments of ssh. It notices by itself when the connection is gone, asks nobody, and forwards nothing.
    private static func arguments(for destination: String) -> [String] {
        let options = [
            "BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=15", "ServerAliveCountMax=3",
            "ClearAllForwardings=yes", "PermitLocalCommand=no",
        ]
        return ["-akxT"] + options.map { "-o\($0)" } + ["--", destination, "openurl receive"]
    }

    private func attach() {
        watch = loop.watch(socket, for: .readable) { [self] in ready($0) }
        errorsWatch = loop.watch(errors, for: .readable) { [self] _ in readErrors() }
        silence.start(in: Self.greetingTime) { [self] in end("\(host) did not answer in time") }
    }

    // MARK: Requests

    /// Sends a request, and returns when there is an answer, or when there will be none.
    ///
    /// - Parameter lifetime: the time that is left until the URL expires; nil if it never does.
    func send(_ request: HostRequest, lifetime: Duration?) async -> HostReply {
        let unreachable = HostReply.none("\(host) cannot be reached")
        guard let clocks, !isEnded else { return unreachable }
        lastNumber &+= 1
        let number = lastNumber
        var deadline: UInt64 = 0
        if let lifetime {
            // The far clock was read before its message arrived, so this is never too late.
            let elapsed = (ContinuousClock.now - clocks.here) + lifetime
            deadline = clocks.far &+ UInt64(max(elapsed.milliseconds, 1))
        }
        let bytes: [UInt8]
        do throws(MessageEncodingError) {
            bytes = try HostFrames.bytes(of: HostFrames.Request(number, deadline, request))
        } catch {
            let reason = OpenURLError(.limitsExceeded, "the URL and its options cannot be sent to \(host): \(error)")
            return .answer(.failed(reason.dbusError))
        }
        return await withCheckedContinuation { continuation in
            // Other jobs of the loop may run before this closure.
            if isEnded { return continuation.resume(returning: unreachable) }
            output += bytes
            answers[number] = continuation
            if answers.count == 1 { startSilence() }
            write()
        }
    }

    /// Waits for the next answer, but not without end.
    private func startSilence() {
        silence.start(in: Self.answerTime) { [self] in end("\(host) stopped answering") }
    }

    // MARK: Streams

    private func ready(_ events: DescriptorEvents) {
        if !output.isEmpty { write() }
        guard !isEnded, events != .writable else { return }
        read()
    }

    private func write() {
        while !output.isEmpty, !isEnded {
            let count = output.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count > 0 {
                output.removeFirst(count)
            } else if errno != EINTR {
                if errno != EAGAIN { end("the connection to \(host) was lost") }
                break
            }
        }
        guard !isEnded else { return }
        watch?.events = output.isEmpty ? .readable : [.readable, .writable]
    }

    private func read() {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, count in
            result = Glibc.read(socket, buffer.baseAddress, Self.chunk)
            count = max(0, result)
        }
        if result < 0, errno == EAGAIN || errno == EINTR { return }
        if bytes.isEmpty {
            // ssh closes its output before it exits, and its exit says more.
            watch?.isEnabled = false
            return
        }
        input.append(bytes)
        do throws(MessageDecodingError) {
            try takeMessages()
        } catch {
            end("the far side of ssh is not 'openurl receive': \(error)")
        }
    }

    private func takeMessages() throws(MessageDecodingError) {
        while !isEnded {
            guard clocks != nil else {
                guard let hello = try input.next(HostFrames.Hello.self) else { return }
                let (name, clock) = hello.values
                guard name == HostFrames.protocolName else { throw .invalidValue("another protocol") }
                clocks = (clock, .now)
                silence.cancel()
                opened()
                continue
            }
            guard let answer = try input.next(HostFrames.Answer.self) else { return }
            let (number, outcome) = answer.values
            guard let continuation = answers.removeValue(forKey: number) else {
                throw .invalidValue("an unexpected answer")
            }
            if answers.isEmpty { silence.cancel() } else { startSilence() }
            continuation.resume(returning: .answer(outcome))
        }
    }

    // MARK: End

    private func exited(_ exit: ProcessExit) {
        end(sshWords() ?? (clocks == nil ? "ssh \(exit)" : "the connection to \(host) was lost"))
    }

    /// Reads what ssh has printed, so that it never waits for room in the pipe, and keeps the end.
    private func readErrors() {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, count in
            result = Glibc.read(errors, buffer.baseAddress, Self.chunk)
            count = max(0, result)
        }
        words = (words + bytes).suffix(Self.errorBytes)
        if result == 0 { errorsWatch?.isEnabled = false }
    }

    /// Returns the last line that ssh has printed; nil if there is none.
    private func sshWords() -> String? {
        guard clocks == nil, errors >= 0 else { return nil }
        readErrors()
        let lines = String(decoding: words, as: UTF8.self).split { $0.isNewline }
        return lines.last.map { "ssh: \($0)" }
    }

    /// Ends the session. Only the first reason counts.
    func end(_ reason: String) {
        guard !isEnded else { return }
        isEnded = true
        process?.kill()
        close()
        let left = answers.values
        answers = [:]
        for continuation in left { continuation.resume(returning: .none("\(reason); \(host) may have the URL")) }
        ended(reason)
    }

    private func close() {
        silence.cancel()
        watch?.cancel()
        errorsWatch?.cancel()
        (watch, errorsWatch) = (nil, nil)
        for descriptor in [socket, errors] where descriptor >= 0 { Glibc.close(descriptor) }
        (socket, errors) = (-1, -1)
    }
}
