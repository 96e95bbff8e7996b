package import OpenURLBus
package import UserFiles

/// A policy file's text, line by line, as it was written.
///
/// A line is `DECISION URLS from SOURCE`, with spaces or tabs between the words. `DECISION` is `allow`, `ask` or
/// `deny`; case does not matter. `URLS` is `SCHEME`, `SCHEME://HOST`, or `*`. A `#` at the beginning of a line or after
/// a space begins a comment. A line that cannot be read is not a rule but is reported as a diagnostic. Unless it begins
/// with `allow`, it may have been meant as a refusal, so it refuses all sandboxes, other hosts and unknown programs.
package struct PolicyText: Sendable, Hashable {
    /// Maximum size of a file in bytes.
    package static let maximumSize = 64 << 10
    /// Maximum number of rules in a file.
    package static let maximumRules = 1000

    private var written: RuleLines
    private var lines: [String] {
        get { written.lines }
        set { written.lines = newValue }
    }

    private enum Content {
        case nothing
        case rule(PolicyPattern, PolicyDecision)
        case problem(String, mayRefuse: Bool)
    }

    /// Splits a string into lines, ignoring a byte order mark at the beginning.
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
    package func rules(file: String, isUsers: Bool) -> (rules: [PolicyLine], diagnostics: [Diagnostic]) {
        var rules: [PolicyLine] = []
        var problems = Problems(file: file)
        var (count, isRefused) = (0, false)
        for (index, line) in lines.enumerated() {
            switch Self.content(of: line) {
            case .nothing: continue
            case .problem(let reason, let mayRefuse) where mayRefuse && !isRefused:
                isRefused = true
                rules += PolicyLine.refusals(of: file, line: index + 1, isUsers: isUsers)
                problems.add(
                    .error,
                    "line \(index + 1)",
                    "\(reason); until the line is corrected, no rule allows anything to sandboxes, other hosts and unknown programs"
                )
            case .problem(let reason, _): problems.add(.warning, "line \(index + 1)", reason)
            case .rule(let pattern, let decision):
                guard count < Self.maximumRules else {
                    problems.add(
                        .warning,
                        "line \(index + 1)",
                        "is not used: a file may have at most \(Self.maximumRules) rules"
                    )
                    rules += PolicyLine.refusals(of: file, isUsers: isUsers)
                    return (rules, problems.diagnostics)
                }
                count += 1
                rules.append(PolicyLine(pattern, decision, file: file, line: index + 1, isUsers: isUsers))
            }
        }
        return (rules, problems.diagnostics)
    }

    private static func content(of line: String) -> Content {
        let words = words(of: line)
        guard let first = words.first else { return .nothing }
        guard let decision = PolicyDecision(rawValue: asciiLowercased(first)) else {
            return .problem(
                "begins with '\(printable(first))': write allow, ask or deny first, as in 'deny tel from sandboxed'",
                mayRefuse: true
            )
        }
        let mayRefuse = decision != .allow
        guard words.count == 4, asciiLowercased(words[2]) == "from" else {
            let word = decision.rawValue
            return .problem(
                "is not a rule: write '\(word) SCHEME from SOURCE', as in '\(word) tel from sandboxed'",
                mayRefuse: mayRefuse
            )
        }
        do throws(PolicySyntaxError) {
            return .rule(try PolicyPattern(urls: words[1], source: words[3]), decision)
        } catch {
            return .problem(error.description, mayRefuse: mayRefuse)
        }
    }

    /// Splits a line into words, up to its comment.
    private static func words(of line: String) -> [String] {
        var words: [String] = []
        // A combining mark that follows a space must not become one character with the space.
        for word in line.unicodeScalars.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            if word.first == "#" { break }
            words.append(String(word))
        }
        return words
    }

    private func pattern(at index: Int) -> PolicyPattern? {
        if case .rule(let pattern, _) = Self.content(of: lines[index]) { pattern } else { nil }
    }

    // MARK: Changes

    /// Writes a rule, either in place of the first rule for the pattern or as a new last line. Comments and all other
    /// lines are kept.
    package mutating func set(_ pattern: PolicyPattern, _ decision: PolicyDecision) {
        let places = lines.indices.filter { self.pattern(at: $0) == pattern }
        guard let place = places.first else {
            lines.append("\(decision.rawValue) \(pattern)")
            return
        }
        // Keep the spaces in front of the rule and the comment after it.
        let line = lines[place]
        let indent = line.prefix { $0 == " " || $0 == "\t" }
        let old = line.dropFirst(indent.count).prefix { $0 != " " && $0 != "\t" }
        lines[place] = indent + decision.rawValue + line.dropFirst(indent.count + old.count)
        for place in places.dropFirst().reversed() { lines.remove(at: place) }
    }

    /// Removes the rules for a pattern, with their lines.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package mutating func remove(_ pattern: PolicyPattern) -> Bool {
        let count = lines.count
        let kept = lines.indices.filter { self.pattern(at: $0) != pattern }
        lines = kept.map { lines[$0] }
        return lines.count < count
    }

    /// Removes every rule, with its line. Comments and lines that cannot be read are kept.
    package mutating func removeAll() {
        let kept = lines.indices.filter { pattern(at: $0) == nil }
        lines = kept.map { lines[$0] }
    }
}
