internal import Desktop
internal import FoundationEssentials
internal import Translations
internal import UserFiles

/// The applications that implement intents, as text.
struct IntentReport {
    /// An intent as a whole, or one of its scopes.
    struct Subject: Hashable {
        let intent: Intent
        let scope: IntentScope?
    }

    let applications: IntentApplications

    init(loading directories: DesktopDirectories) {
        applications = IntentApplications(
            entries: DesktopEntries(loading: directories),
            choices: IntentChoices(loading: directories)
        )
    }

    /// All intents that are implemented or named, without their scopes.
    private var intents: [Subject] {
        Set(applications.intents).union(applications.choices.intents).sorted().map { Subject(intent: $0, scope: nil) }
    }

    /// A subject, and the scopes of an intent as a whole.
    private func subjects(_ subject: Subject) -> [Subject] {
        guard subject.scope == nil else { return [subject] }
        let scopes = Set(applications.scopes(of: subject.intent))
            .union(applications.choices.scopes(of: subject.intent))
        return [subject] + scopes.sorted().map { Subject(intent: subject.intent, scope: $0) }
    }

    // MARK: Text

    /// Returns lines about all intents, or about one with its scopes, and about the problems in the files of choices.
    func text(about subject: Subject? = nil) -> String {
        var blocks = (subject.map(subjects) ?? intents).map(block)
        if blocks.isEmpty { blocks = [translated("No application implements an intent.") + "\n"] }
        let problems = applications.choices.diagnostics.map { "\(printableLine($0.description))\n" }
        if !problems.isEmpty { blocks.append(problems.joined()) }
        return blocks.joined(separator: "\n")
    }

    private func block(_ subject: Subject) -> String {
        let decision = applications.decision(for: subject.intent, scope: subject.scope)
        var lines = [subject.scope.map { "\(subject.intent) \($0)" } ?? "\(subject.intent)"]
        for (index, candidate) in decision.candidates.enumerated() {
            lines.append("  \(candidate.entry.id): \(reason(of: candidate, isFirst: index == 0))")
            if subject.intent == .terminal, !candidate.entry.isDBusActivatable {
                lines.append("    " + translated("cannot be called: a terminal has to be D-Bus activatable"))
            }
        }
        if decision.candidates.isEmpty { lines.append("  " + translated("no installed application")) }
        for rejection in decision.rejections {
            lines.append("  \(rejection.choice.id): \(reason(of: rejection))")
        }
        return lines.map { printableLine($0) + "\n" }.joined()
    }

    private func reason(of candidate: IntentApplications.Candidate, isFirst: Bool) -> String {
        let declaration = "\(candidate.entry.file):\(candidate.declaration.line)"
        guard let choice = candidate.choice else {
            return isFirst
                ? translated("default; no file chooses, and \(declaration) comes first")
                : translated("implements it, \(declaration)")
        }
        let place = "\(choice.file):\(choice.line)"
        guard isFirst else { return translated("named behind the default, \(place)") }
        return candidate.isForWholeIntent
            ? translated("default; \(place) chooses it for the intent as a whole")
            : translated("default; \(place) chooses it")
    }

    private func reason(of rejection: IntentApplications.Rejection) -> String {
        let place = "\(rejection.choice.file):\(rejection.choice.line)"
        return switch rejection.reason {
        case .notInstalled: translated("passed over, \(place): not installed")
        case .notImplemented: translated("passed over, \(place): its entry does not implement the intent")
        case .notSupported: translated("passed over, \(place): its entry does not support the scope")
        }
    }

    // MARK: JSON

    /// Returns an object for each intent, or for one with its scopes, on lines of their own.
    func json(about subject: Subject? = nil) -> String {
        (subject.map(subjects) ?? intents).map { line(PrintedIntent($0, applications)) }.joined()
    }

    private func line(_ printed: PrintedIntent) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(printed), as: UTF8.self) + "\n"
        } catch {
            return ""
        }
    }
}

/// An intent or one of its scopes in JSON.
private struct PrintedIntent: Encodable {
    struct Place: Encodable {
        let file: String
        let line: Int

        init(_ file: String, _ line: Int) {
            self.file = printableLine(file)
            self.line = line
        }
    }

    struct Application: Encodable {
        let id: String
        let name: String
        let activatable: Bool
        let implements: Place
        let chosen: Place?

        private enum CodingKeys: String, CodingKey {
            case id, name, activatable, implements, chosen
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(name, forKey: .name)
            try container.encode(activatable, forKey: .activatable)
            try container.encode(implements, forKey: .implements)
            // Encode absent values as null, so that a reader finds every key.
            try container.encode(chosen, forKey: .chosen)
        }
    }

    struct Rejection: Encodable {
        let id: String
        let reason: String
        let named: Place
    }

    let intent: String
    let scope: String?
    let applications: [Application]
    let rejected: [Rejection]

    private enum CodingKeys: String, CodingKey {
        case intent, scope, `default`, applications, rejected
    }

    init(_ subject: IntentReport.Subject, _ applications: IntentApplications) {
        let decision = applications.decision(for: subject.intent, scope: subject.scope)
        intent = subject.intent.rawValue
        scope = subject.scope.map { printableLine($0.rawValue) }
        self.applications = decision.candidates.map { candidate in
            Application(
                id: printableLine(candidate.entry.id.rawValue),
                name: printableLine(candidate.entry.name),
                activatable: candidate.entry.isDBusActivatable,
                implements: Place(candidate.entry.file, candidate.declaration.line),
                chosen: candidate.choice.map { Place($0.file, $0.line) }
            )
        }
        rejected = decision.rejections.map { rejection in
            let reason =
                switch rejection.reason {
                case .notInstalled: "not-installed"
                case .notImplemented: "not-implemented"
                case .notSupported: "not-supported"
                }
            return Rejection(
                id: printableLine(rejection.choice.id.rawValue),
                reason: reason,
                named: Place(rejection.choice.file, rejection.choice.line)
            )
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(intent, forKey: .intent)
        try container.encode(scope, forKey: .scope)
        try container.encode(applications.first?.id, forKey: .default)
        try container.encode(applications, forKey: .applications)
        try container.encode(rejected, forKey: .rejected)
    }
}
