internal import Logging
internal import UserFiles

/// The problems in files of rules, each of which is logged once, and again only after it was gone.
struct RuleProblems {
    private var known: Set<String> = []

    /// Logs the problems that are new, and returns all of them, one line of text for each.
    @discardableResult
    mutating func report(_ diagnostics: [Diagnostic], to log: Logger) -> [String] {
        let current = diagnostics.map(\.description)
        for problem in current where !known.contains(problem) { log.warning("\(problem)") }
        known = Set(current)
        return current
    }
}
