internal import Policy
package import UserFiles

/// The text of a file of rules for links, line by line, as it was written.
///
/// `LinkRule` describes the lines. A `#` at the beginning of a line or after a space begins a comment. A line that
/// cannot be read is reported as a diagnostic, and the other lines count.
package struct LinkText: Sendable, Hashable {
    /// Maximum size of a file in bytes.
    package static let maximumSize = 2 << 20
    /// Maximum number of rules in a file.
    package static let maximumRules = 10_000

    private var written: RuleLines

    package init(_ text: String = "") {
        written = RuleLines(text)
    }

    /// The text, with a line break at the end of each line.
    package var text: String { written.text }

    /// Reads the rules.
    ///
    /// - Parameters:
    ///   - file: the path of the file.
    ///   - isUsers: whether the user may change the file.
    package func rules(file: String, isUsers: Bool) -> (rules: [LinkRule], diagnostics: [Diagnostic]) {
        var rules: [LinkRule] = []
        var problems = Problems(file: file)
        for (index, line) in written.lines.enumerated() {
            do throws(LinkSyntaxError) {
                guard let rule = try LinkRule(line, file: file, line: index + 1, isUsers: isUsers) else { continue }
                guard rules.count < Self.maximumRules else {
                    problems.add(
                        .warning,
                        "line \(index + 1)",
                        "is not used: a file may have at most \(Self.maximumRules) rules"
                    )
                    break
                }
                rules.append(rule)
            } catch {
                problems.add(.warning, "line \(index + 1)", error.description)
            }
        }
        return (rules, problems.diagnostics)
    }

    /// Adds a line with a rule above the first line that has the same rule as another one, so that the new rule comes
    /// first; at the end if there is no such line.
    package mutating func insert(_ rule: String, above other: LinkRule?) {
        let place = written.lines.firstIndex { line in
            guard let other else { return false }
            do throws(LinkSyntaxError) {
                return try LinkRule(line, file: "", line: 0, isUsers: true)?.text == other.text
            } catch {
                return false
            }
        }
        written.lines.insert(rule, at: place ?? written.lines.endIndex)
    }
}
