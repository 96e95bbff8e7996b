internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import WebLinks

/// Asks a site which handlers get its links.
protocol SiteAsking: Sendable {
    /// Whether sites can be asked at all.
    var isPossible: Bool { get }

    /// Asks a site about handlers, and returns its answer within 30 seconds; nil if there is none.
    func ask(_ host: WebHost, about handlers: [String]) async -> SiteAnswer?
}

/// Asks sites with `openurl-proofs`, a program of its own, so that the router has neither a network connection nor a
/// reader for what strangers send.
struct SiteQuestions: SiteAsking {
    /// The path of the program; nil if sites are never asked.
    private let program: String?
    private let launcher: HandlerLauncher
    private let log: Logger

    /// Time limit for the program. Its own limits are shorter.
    private static let time = Duration.seconds(30)
    /// Time limit for the file systems to provide the program.
    private static let startTime = Duration.seconds(5)
    private static let variable = "OPENURL_PROOFS"
    private static let name = "openurl-proofs"

    /// Finds the program: the path in `OPENURL_PROOFS`, or the program beside the router. If the variable is empty, sites
    /// are never asked.
    init(_ launcher: HandlerLauncher, environment: [String: String], log: Logger) {
        self.launcher = launcher
        self.log = log
        if let path = environment[Self.variable] {
            program = path.hasPrefix("/") ? path : nil
        } else {
            program = ProcessProgram.path(ofNeighbour: Self.name)
        }
    }

    var isPossible: Bool { program.map { access($0, X_OK) == 0 } ?? false }

    func ask(_ host: WebHost, about handlers: [String]) async -> SiteAnswer? {
        guard let program else { return nil }
        do throws(ProgramStart.Failure) {
            let (exit, bytes) = try await run(program, [Self.name, host.rawValue] + handlers)
            guard exit == .exited(status: 0) else {
                log.warning("openurl-proofs \(exit) while it asked \(host)")
                return nil
            }
            let answer = SiteAnswer(bytes: bytes, from: host, about: Set(handlers))
            if answer == nil { log.warning("openurl-proofs gave no valid answer about \(host)") }
            return answer
        } catch {
            log.warning("openurl-proofs was not started: \(error)")
            return nil
        }
    }

    /// Runs the program with nothing in its environment that could lead it elsewhere. After the time limit, it is killed.
    private func run(
        _ program: String,
        _ arguments: [String]
    ) async throws(ProgramStart.Failure) -> (ProcessExit, [UInt8]) {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw .refused(Errno(rawValue: errno)) }
        defer { close(ends[0]) }
        // If the program has descendants, one of them may keep the pipe open.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let start = ProgramStart(
            program: .path(program),
            arguments: arguments,
            environment: ["PATH": "/usr/bin:/bin"],
            directory: "/",
            isTrusted: false,
            output: UnixFD(owning: ends[1])
        )
        let ending = ProgramEnding()
        let process = try await launcher.launch(Self.name, start, within: Self.startTime) { ending.end($0) }
        let timer = launcher.loop.schedule(at: .now + Self.time) {
            process.kill()
            ending.end(.signalled(SIGKILL))
        }
        let exit = await withCheckedContinuation { ending.wait($0) }
        launcher.loop.cancelTimer(timer)
        return (exit, Self.bytes(of: ends[0]))
    }

    /// Reads the output of a program that has ended. It fits into the pipe, or it is too long.
    private static func bytes(of descriptor: CInt) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= SiteAnswer.maximumSize {
            let chunk = [UInt8](unsafeUninitializedCapacity: 1 << 14) { buffer, count in
                count = max(0, read(descriptor, buffer.baseAddress, 1 << 14))
            }
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes
    }
}

/// The end of a program, for which one task waits. This belongs to the loop.
private final class ProgramEnding {
    private var exit: ProcessExit?
    private var continuation: CheckedContinuation<ProcessExit, Never>?

    func end(_ exit: ProcessExit) {
        guard self.exit == nil else { return }
        self.exit = exit
        continuation?.resume(returning: exit)
        continuation = nil
    }

    func wait(_ continuation: CheckedContinuation<ProcessExit, Never>) {
        if let exit { continuation.resume(returning: exit) } else { self.continuation = continuation }
    }
}
