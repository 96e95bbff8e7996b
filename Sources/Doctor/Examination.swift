internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// One run of all checks.
final class Examination {
    let files: ExaminedFiles
    let topic: Topic?
    /// The version of the command that the person has called.
    let commandVersion: String
    private let connection: Result<SessionBus, ConnectionError>
    /// The process of the router; nil if no router runs.
    var router: ProcessFacts?
    private(set) var findings: [Finding] = []
    /// The handlers that the router has in memory only, once the router has listed them.
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

    /// Nil without a session bus.
    var bus: SessionBus? {
        if case .success(let bus) = connection { bus } else { nil }
    }

    var environment: [String: String] { files.environment }

    /// The schemes that the checks look at.
    var schemes: [Scheme] { topic?.schemes ?? files.handlerSchemes }

    /// Makes all checks.
    ///
    /// - Parameter probes: whether a URL is sent on each way.
    func perform(probing probes: Bool) {
        switch connection {
        case .success(let bus): checkSession(bus)
        case .failure(let error): reportMissingBus(error)
        }
        checkHandlers()
        checkEntries()
        checkOpeners()
        checkAssociationFiles()
        if let bus, router != nil { checkRouterState(bus) }
        if probes { probe() }
    }

    /// Adds a fact, unless the fact is known already: an entry may claim several schemes.
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

    /// Adds the fact that a part has no faults, unless it has.
    func addSoundness(of part: Finding.Part, _ check: String, _ subject: String, _ message: String) {
        guard !findings.contains(where: { $0.part == part && ($0.level == .warn || $0.level == .fail) }) else { return }
        add(part, .ok, check, subject, message)
    }
}
