internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// One run of all checks.
final class Examination {
    let files: ExaminedFiles
    let topic: Topic?
    /// The version of the command that the person has called.
    let commandVersion: String
    /// Nil without a session bus.
    private(set) var bus: SessionBus?
    /// The process of the router; nil if no router runs.
    var router: ProcessFacts?
    private(set) var findings: [Finding] = []

    init(_ files: ExaminedFiles, topic: Topic?, commandVersion: String) {
        self.files = files
        self.topic = topic
        self.commandVersion = commandVersion
    }

    var environment: [String: String] { files.environment }

    /// The schemes that the checks look at.
    var schemes: [Scheme] { topic?.schemes ?? files.handlerSchemes }

    /// Makes all checks.
    ///
    /// - Parameter probes: whether a URL is sent on each way.
    func perform(probing probes: Bool) {
        do throws(ConnectionError) {
            bus = try SessionBus()
        } catch {
            reportMissingBus(error)
        }
        if let bus { checkSession(bus) }
        checkHandlers()
        checkEntries()
        checkOpeners()
        checkAssociationFiles()
        if let bus, router != nil { checkRouterState(bus) }
        if probes { probe() }
    }

    func add(_ finding: Finding) { findings.append(finding) }

    func add(
        _ part: Finding.Part,
        _ level: Finding.Level,
        _ check: String,
        _ subject: String,
        _ message: String,
        file: String? = nil,
        fix: String? = nil,
        mend: Mend? = nil
    ) {
        findings.append(
            Finding(
                part: part,
                level: level,
                check: check,
                subject: subject,
                message: message,
                file: file,
                fix: fix,
                mend: mend
            )
        )
    }

    /// Adds the fact that a part has no faults, unless it has.
    func addSoundness(of part: Finding.Part, _ check: String, _ subject: String, _ message: String) {
        guard !findings.contains(where: { $0.part == part && ($0.level == .warn || $0.level == .fail) }) else { return }
        add(part, .ok, check, subject, message)
    }
}
