internal import Desktop
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Reports the choice that KDE makes by its own rules, if KDE is installed.
struct KDECheck: SchemeCheck {
    let evidence: Evidence

    func perform(_ scheme: Scheme, expected: String, _ findings: inout Findings) {
        let isKDE = files.desktop.currentDesktop.contains("kde")
        guard isKDE || ["kioclient", "kioclient5", "plasmashell"].contains(where: { files.tool($0) != nil }) else {
            return OpenerChoice.missing.report(of: "KDE", on: scheme, expected: expected, files, &findings)
        }
        let applications = KDEApplications(environment: environment, entries: files.entries)
        let choices = applications.preferred(for: scheme.mimeType)
        guard choices.count > 1 else {
            let choice = OpenerChoice(choices.first?.rawValue)
            return choice.report(of: "KDE", on: scheme, expected: expected, files, &findings)
        }
        // Suggest choosing what the user asks about, if KDE may choose it.
        let targets = choices.map { files.target(of: $0.rawValue) }
        let asked = targets.first { $0 == topic?.identifier }
        let list = targets.joined(separator: ", ")
        findings.add(
            .openers,
            .warn,
            "kde",
            "KDE",
            translated("opens \(scheme): with any of \(list), because no default is chosen"),
            fix: "openurl default \(scheme) \(quotedForShell(asked ?? expected))"
        )
    }
}
