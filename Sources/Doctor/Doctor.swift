internal import DBus
internal import Glibc
internal import Translations
internal import UserFiles

/// Finds out why a URL does not arrive.
///
/// The doctor reads the files that decide about URLs, as the user's programs find them, and asks the bus and the
/// router. It is not part of the `openurl` command, which would then take longer to start. Instead, the command
/// continues as the router's program, as it does for `openurl publish`. The doctor itself needs neither a bus nor a
/// router.
public struct Doctor: Sendable, Hashable {
    private var topic: String?
    private var probes = false
    private var repairs = false
    private var printsJSON = false
    private var commandVersion = ""

    /// The result of a run.
    public struct Outcome: Sendable, Hashable {
        /// The text to print.
        public let text: String
        /// Whether the text is a message about the command line.
        public let isUsageError: Bool
        /// Whether a URL does not arrive.
        public let hasFailed: Bool
    }

    /// Reads the arguments after `--doctor`; nil if they are invalid.
    public init?(_ arguments: some Sequence<String>) {
        var arguments = Array(arguments)[...]
        while let argument = arguments.popFirst() {
            switch argument {
            case "--probe": probes = true
            case "--fix": repairs = true
            case "--json": printsJSON = true
            case "--command":
                guard let version = arguments.popFirst() else { return nil }
                commandVersion = version
            case "--":
                guard let text = arguments.popFirst() else { continue }
                topic = text
            default: return nil
            }
        }
    }

    /// Runs the checks, and performs the repairs if the user has asked for them.
    ///
    /// - Parameters:
    ///   - environment: the variables of this process.
    ///   - installation: the files installed with this program; nil if they are unknown.
    public func run(environment: [String: String], installation: InstalledFiles?) -> Outcome {
        if printsJSON { keepTextsInEnglish() }
        guard var examination = examine(environment, installation) else {
            let problem = translated("'\(topic ?? "")' is neither a scheme, nor a URL, nor an identifier")
            let text = "openurl: \(printableLine(problem))\n"
            return Outcome(text: text, isUsageError: true, hasFailed: false)
        }
        if repairs, repair(examination), let second = examine(environment, installation) { examination = second }
        let report = Report(findings: examination.findings.all)
        return Outcome(text: text(of: report, environment), isUsageError: false, hasFailed: report.hasFailed)
    }

    private func examine(_ environment: [String: String], _ installation: InstalledFiles?) -> Examination? {
        let connection = Result { () throws(ConnectionError) in
            var bus = try SessionBus()
            // A router that starts now writes entries, which the examination has to find.
            bus.startRouter()
            return bus
        }
        let files = ExaminedFiles(environment: environment, installation: installation)
        var found: Topic?
        if let topic {
            found = Topic(topic, files)
            if found == nil { return nil }
        }
        let evidence = Evidence(files, connection, topic: found, commandVersion: commandVersion)
        return Examination(of: evidence, probing: probes)
    }

    /// Performs the repairs, and reports what was done.
    ///
    /// - Returns: whether a repair was attempted.
    private func repair(_ examination: Examination) -> Bool {
        let evidence = examination.evidence
        var done: Set<Repair> = []
        for repair in examination.findings.all.compactMap(\.repair) where done.insert(repair).inserted {
            do throws(RepairFailure) {
                note(try repair.perform(evidence.bus, environment: evidence.files.environment))
            } catch {
                note(translated("could not fix: \(error.reason)"))
            }
        }
        if done.isEmpty { note(translated("nothing for --fix to do")) }
        return !done.isEmpty
    }

    /// Prints a sentence apart from the report.
    private func note(_ text: String) {
        let bytes = Array("openurl: \(printableLine(text))\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    private func text(of report: Report, _ environment: [String: String]) -> String {
        guard !printsJSON else {
            do {
                return try report.json()
            } catch {
                return "[]\n"
            }
        }
        guard isatty(STDOUT_FILENO) != 0 else { return report.lines }
        return report.text(isColoured: environment["NO_COLOR"] == nil && environment["TERM"] != "dumb")
    }
}
