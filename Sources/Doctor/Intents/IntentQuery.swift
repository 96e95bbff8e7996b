internal import Desktop
internal import Translations
internal import UserFiles

/// A question about the applications that implement intents, or a choice between them: the work of `openurl intents`.
///
/// Like the doctor, it reads the desktop's files as the user's programs find them, and needs neither a bus nor a router.
public struct IntentQuery: Sendable, Hashable {
    private var printsJSON = false
    private var scope: String?
    private var removesChoice = false
    private var intent: String?
    private var application: String?

    /// The result of a query.
    public struct Outcome: Sendable, Hashable {
        /// The text to print.
        public let text: String
        /// Whether the text is about an error.
        public let isError: Bool
        /// Whether a query about one intent, or one scope, found no application that implements it.
        public let isEmpty: Bool
    }

    /// Reads the arguments after `--intents`; nil if they are invalid.
    public init?(_ arguments: some Sequence<String>) {
        var arguments = Array(arguments)[...]
        while let argument = arguments.popFirst() {
            switch argument {
            case "--json": printsJSON = true
            case "--reset": removesChoice = true
            case "--scope":
                guard let text = arguments.popFirst() else { return nil }
                scope = text
            case "--":
                intent = arguments.popFirst()
                application = arguments.popFirst()
                guard arguments.isEmpty else { return nil }
            default: return nil
            }
        }
        guard intent != nil || scope == nil && !removesChoice, application == nil || !removesChoice else { return nil }
    }

    /// Reads the files, makes the choice if there is one, and describes the applications.
    ///
    /// - Parameter environment: the variables of this process.
    public func run(environment: [String: String]) -> Outcome {
        if printsJSON { keepTextsInEnglish() }
        let directories = DesktopDirectories(environment: environment)
        do throws(IntentFailure) {
            let subject = try subject()
            if let subject, removesChoice || application != nil { try choose(subject, in: directories) }
            let report = IntentReport(loading: directories)
            guard let subject else {
                return Outcome(text: printsJSON ? report.json() : report.text(), isError: false, isEmpty: false)
            }
            let isEmpty = report.applications.decision(for: subject.intent, scope: subject.scope).candidates.isEmpty
            let text = printsJSON ? report.json(about: subject) : report.text(about: subject)
            return Outcome(text: text, isError: false, isEmpty: isEmpty && !removesChoice)
        } catch {
            return Outcome(text: "openurl: \(printableLine(error.reason))\n", isError: true, isEmpty: false)
        }
    }

    private func subject() throws(IntentFailure) -> IntentReport.Subject? {
        guard let intent else { return nil }
        guard let name = Intent(rawValue: intent) else {
            throw IntentFailure(
                reason: translated("'\(intent)' is not the name of an interface, such as org.freedesktop.Terminal1")
            )
        }
        guard let scope else { return IntentReport.Subject(intent: name, scope: nil) }
        guard let tag = IntentScope(rawValue: scope) else {
            throw IntentFailure(reason: translated("'\(scope)' cannot be a scope"))
        }
        return IntentReport.Subject(intent: name, scope: tag)
    }

    private func choose(_ subject: IntentReport.Subject, in directories: DesktopDirectories) throws(IntentFailure) {
        guard let file = IntentChoicesFile(in: directories) else {
            throw IntentFailure(
                reason: translated("there is no directory for the choice; set HOME to an absolute path")
            )
        }
        do throws(FileWriteError) {
            guard let application else { return try file.removeDefault(for: subject.intent, scope: subject.scope) }
            let candidates = IntentReport(loading: directories).applications
                .decision(for: subject.intent, scope: subject.scope).candidates
            guard let chosen = candidates.first(where: { $0.entry.id.rawValue == application }) else {
                throw FileWriteError(file.path, Self.refusal(of: application, subject))
            }
            try file.setDefault(chosen.entry.id, for: subject.intent, scope: subject.scope)
        } catch {
            throw IntentFailure(reason: error.description)
        }
    }

    private static func refusal(of application: String, _ subject: IntentReport.Subject) -> String {
        if let scope = subject.scope {
            return translated(
                "no installed application '\(application)' implements \(subject.intent) with the scope \(scope)"
            )
        }
        return translated("no installed application '\(application)' implements \(subject.intent)")
    }
}

/// Why a question cannot be answered, or a choice cannot be made.
private struct IntentFailure: Error {
    let reason: String
}
