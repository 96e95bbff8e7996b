internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// One run of all checks.
final class Examination {
    let files: ExaminedFiles
    let topic: Topic?
    /// The version of the command that the user ran.
    let commandVersion: String
    private let connection: Result<SessionBus, ConnectionError>
    /// The router's process; nil if no router is running.
    var router: ProcessFacts?
    private(set) var findings: [Finding] = []
    /// The handlers that the router has only in memory, once it has listed them.
    var temporary: [HandlerEntry] = []

    init(
        _ files: ExaminedFiles,
        _ connection: Result<SessionBus, ConnectionError>,
        topic: Topic?,
        commandVersion: String
    ) {
        self.files = files
        self.connection = connection
        self.topic = topic
        self.commandVersion = commandVersion
    }

    /// The session bus, if there is one.
    var bus: SessionBus? {
        if case .success(let bus) = connection { bus } else { nil }
    }

    var environment: [String: String] { files.environment }

    /// The schemes to check.
    var schemes: [Scheme] { topic?.schemes ?? files.handlerSchemes }

    /// Runs all checks.
    ///
    /// - Parameter probes: whether to send a URL in each way.
    func perform(probing probes: Bool) {
        switch connection {
        case .success(let bus): checkSession(bus)
        case .failure(let error): reportMissingBus(error)
        }
        checkHandlers()
        checkEntries()
        checkOpeners()
        checkLinks()
        checkAssociationFiles()
        if let bus, router != nil { checkRouterState(bus) }
        if probes { probe() }
    }

    /// Adds a fact, unless it is already known. An entry may claim several schemes, so the same fact may be found
    /// several times.
    func add(
        _ part: Finding.Part,
        _ level: Finding.Level,
        _ check: String,
        _ subject: String,
        _ message: String,
        file: String? = nil,
        line: Int? = nil,
        fix: String? = nil,
        repair: Repair? = nil
    ) {
        let finding = Finding(
            part: part,
            level: level,
            check: check,
            subject: subject,
            message: message,
            file: file,
            line: line,
            fix: fix,
            repair: repair
        )
        if !findings.contains(finding) { findings.append(finding) }
    }

    /// Replaces warnings about openers' choices, because a better check has shown something else.
    func withdraw(_ checks: Set<String>, _ message: String) {
        findings = findings.map { finding in
            guard finding.part == .openers, finding.level == .warn, checks.contains(finding.check) else {
                return finding
            }
            return Finding(
                part: finding.part,
                level: .ok,
                check: finding.check,
                subject: finding.subject,
                message: message
            )
        }
    }

    /// Adds the fact that nothing is wrong with a part, if that is the case.
    func addSoundness(of part: Finding.Part, _ check: String, _ subject: String, _ message: String) {
        guard !findings.contains(where: { $0.part == part && ($0.level == .warn || $0.level == .fail) }) else { return }
        add(part, .ok, check, subject, message)
    }
}
