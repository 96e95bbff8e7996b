internal import Desktop
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// The choice of a program that opens URLs.
enum OpenerChoice {
    /// The opener is not installed.
    case missing
    /// The opener hangs.
    case unanswered
    /// Nothing opens the scheme.
    case nothing
    /// A desktop file ID.
    case entry(String)

    /// The checks that find out why the desktop's programs have nothing with which to open a scheme.
    private static let causes: Set = ["stale-cache", "unpublished", "stale-entry", "foreign-entry"]

    init(_ entry: String?) { self = entry.map(OpenerChoice.entry) ?? .nothing }

    /// Asks a program.
    ///
    /// - Parameter extract: finds the choice in the program's output.
    init(asking arguments: [String], _ environment: [String: String], marking extract: (String) -> String?) {
        let variables = environment.merging(["LC_ALL": "C"]) { $1 }
        switch RunningTool.run(arguments, environment: variables) {
        case .hung: self = .unanswered
        case .failed: self = .nothing
        case .output(let output):
            let text = extract(output)?.split(whereSeparator: \.isWhitespace).first.map(String.init)
            self = OpenerChoice(text.flatMap(DesktopFileID.name(in:)) == nil ? nil : text)
        }
    }

    /// Reports the choice.
    ///
    /// - Parameters:
    ///   - expected: the handler or application that openurl chooses.
    ///   - lacksDisplay: whether the opener would choose so only with a display, and there is none.
    func report(
        of opener: String,
        on scheme: Scheme,
        expected: String,
        lacksDisplay: Bool = false,
        _ files: ExaminedFiles,
        _ findings: inout Findings
    ) {
        let check = opener.lowercased()
        let fix = "openurl default \(scheme) \(quotedForShell(expected))"
        let entry: String
        switch self {
        case .missing: return findings.add(.openers, .skip, check, opener, translated("is not installed"))
        case .unanswered:
            let reason =
                translated(
                    "did not answer within \(RunningTool.timeLimit.components.seconds) seconds, so its choice is not known"
                )
            return findings.add(.openers, .warn, check, opener, reason)
        case .entry(let id): entry = id
        case .nothing:
            // Usually the reason has been found already.
            let cause = findings.all.first {
                Self.causes.contains($0.check) && ($0.part == .entries || $0.subject == expected)
            }
            let reason = translated("has nothing to open \(scheme): with")
            return findings.add(.openers, .fail, check, opener, reason, fix: cause.map(\.fix) ?? fix)
        }
        let target = files.target(of: entry)
        guard target != expected else {
            let fact = entry == expected ? expected : translated("\(expected) (through \(entry))")
            let message = lacksDisplay ? translated("\(fact), but only with a display") : fact
            return findings.add(.openers, .ok, check, opener, message)
        }
        let file = files.all.first { $0.location.id.rawValue == entry }?.location.file
        findings.add(
            .openers,
            .warn,
            check,
            opener,
            translated("\(target), but openurl chooses \(expected)"),
            file: file,
            fix: fix
        )
    }
}
