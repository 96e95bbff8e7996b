/// The facts that the checks have established so far, in the order of the report.
struct Findings {
    private(set) var all: [Finding] = []

    /// Adds a fact, unless it is already known. An entry may claim several schemes, so the same fact may be found
    /// several times.
    mutating func add(
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
        if !all.contains(finding) { all.append(finding) }
    }

    /// Replaces warnings about openers' choices, because a better check has shown something else.
    mutating func withdraw(_ checks: Set<String>, _ message: String) {
        all = all.map { finding in
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
    mutating func addSoundness(of part: Finding.Part, _ check: String, _ subject: String, _ message: String) {
        guard !all.contains(where: { $0.part == part && ($0.level == .warn || $0.level == .fail) }) else { return }
        add(part, .ok, check, subject, message)
    }
}
