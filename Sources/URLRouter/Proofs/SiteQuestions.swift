internal import Glibc
internal import Logging
internal import Processes
internal import Reactor
internal import SchemeRegistry
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
            // Nothing in the environment could lead the program elsewhere.
            let result = try await AnsweringProgram(launcher).run(
                Self.name,
                .path(program),
                [Self.name, host.rawValue] + handlers,
                environment: ["PATH": "/usr/bin:/bin"],
                isTrusted: false,
                limit: SiteAnswer.maximumSize + 1,
                within: Self.time
            )
            guard let result else {
                log.warning("openurl-proofs did not answer about \(host) in time")
                return nil
            }
            guard result.exit == .exited(status: 0) else {
                log.warning("openurl-proofs \(result.exit) while it asked \(host)")
                return nil
            }
            let answer = SiteAnswer(bytes: result.output, from: host, about: Set(handlers))
            if answer == nil { log.warning("openurl-proofs gave no valid answer about \(host)") }
            return answer
        } catch {
            log.warning("openurl-proofs was not started: \(error)")
            return nil
        }
    }
}
