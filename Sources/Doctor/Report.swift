internal import FoundationEssentials
internal import Translations
internal import UserFiles

/// The findings as text.
struct Report {
    let findings: [Finding]

    private static let undo = "\u{1B}[0m"

    /// Whether there is a failure, which means that a URL does not arrive.
    var hasFailed: Bool { findings.contains { $0.level == .fail } }

    /// Returns the findings as a JSON array of objects.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let printable = findings.map { finding in
            Finding(
                part: finding.part,
                level: finding.level,
                check: finding.check,
                subject: printableLine(finding.subject),
                message: printableLine(finding.message),
                file: finding.file.map(printableLine),
                line: finding.line,
                fix: finding.fix.map(printableLine)
            )
        }
        return String(decoding: try encoder.encode(printable), as: UTF8.self) + "\n"
    }

    /// Lines for programs: the level, the check, the subject, the fact, the file with the line, and the command,
    /// separated by tabs.
    var lines: String {
        findings.map { finding in
            let cells = [
                finding.level.rawValue, finding.check, finding.subject, finding.message, finding.place ?? "",
                finding.fix ?? "",
            ]
            return cells.map(printableLine).joined(separator: "\t") + "\n"
        }.joined()
    }

    /// Returns groups of lines for people to read, with a summary.
    func text(isColoured: Bool) -> String {
        var text = ""
        for part in Finding.Part.allCases {
            let found = findings.filter { $0.part == part }
            guard !found.isEmpty else { continue }
            text +=
                (text.isEmpty ? "" : "\n") + (isColoured ? "\u{1B}[1m\(part.title)\(Self.undo)" : part.title)
                + "\n"
            let width = min(found.map { printableLine($0.subject).count }.max() ?? 0, 28)
            for finding in found { text += lines(of: finding, width, isColoured) }
        }
        return text + "\n\(summary)\n"
    }

    private func lines(of finding: Finding, _ width: Int, _ isColoured: Bool) -> String {
        let subject = printableLine(finding.subject)
        let padding = String(repeating: " ", count: max(width - subject.count, 0))
        let level = finding.level.rawValue + String(repeating: " ", count: 4 - finding.level.rawValue.count)
        let mark = isColoured ? "\u{1B}[\(colour(of: finding.level))m\(level)\(Self.undo)" : level
        var text = "  \(mark)  \(subject)\(padding)  \(printableLine(finding.message))\n"
        guard finding.level == .warn || finding.level == .fail else { return text }
        if let place = finding.place { text += "        \(translated("file: \(printableLine(place))"))\n" }
        if let fix = finding.fix { text += "        \(translated("run:  \(printableLine(fix))"))\n" }
        return text
    }

    private func colour(of level: Finding.Level) -> String {
        switch level {
        case .ok: "32"
        case .warn: "33"
        case .fail: "1;31"
        case .skip: "2"
        }
    }

    /// The number of problems, and the next step.
    private var summary: String {
        let failures = findings.count { $0.level == .fail }
        let warnings = findings.count { $0.level == .warn }
        guard failures + warnings > 0 else {
            let isProbed = findings.contains { $0.part == .probe && $0.level == .ok }
            return isProbed
                ? translated("Nothing is wrong, and the URLs arrived.")
                : translated("Nothing is wrong here; --probe sends a URL to make sure.")
        }
        let words = [
            failures == 0 ? nil : translated(failures, one: "\(failures) failure", other: "\(failures) failures"),
            warnings == 0 ? nil : translated(warnings, one: "\(warnings) warning", other: "\(warnings) warnings"),
        ]
        let repairs = Set(findings.compactMap(\.repair)).count
        let counts = words.compactMap(\.self).joined(separator: ", ")
        guard repairs > 0 else { return "\(counts)." }
        return translated(
            repairs,
            one: "\(counts); --fix fixes one of them.",
            other: "\(counts); --fix fixes \(repairs) of them."
        )
    }
}
