package import OpenURLBus
internal import SchemeRegistry
internal import UserFiles

/// One line in a policy: a pattern and a decision.
package struct PolicyLine: Sendable, Hashable {
    package let pattern: PolicyPattern
    package let decision: PolicyDecision
    /// The path of the file.
    package let file: String
    /// The line's number, from 1; 0 for a rule that stands for a file that cannot be used.
    package let line: Int
    /// Whether the user may change the file, because it is not the administrator's.
    package let isUsers: Bool
    /// Whether the rule stands for a line or a file that cannot be read, and therefore takes precedence over all rules
    /// that can be.
    package private(set) var isRefusal = false

    package init(_ pattern: PolicyPattern, _ decision: PolicyDecision, file: String, line: Int, isUsers: Bool) {
        self.pattern = pattern
        self.decision = decision
        self.file = file
        self.line = line
        self.isUsers = isUsers
    }

    /// Returns the rules that replace a line or a file that cannot be read. They allow nothing to the callers at which
    /// most rules are aimed.
    ///
    /// If a policy failed open, a comment that makes the file too large, or an invisible character, would be enough to
    /// disable it. The user's own programs are still allowed, so the user can correct the file.
    ///
    /// - Parameter line: the number of the line; 0 for the whole file.
    static func refusals(of file: String, line: Int = 0, isUsers: Bool) -> [PolicyLine] {
        [CallerClass.sandboxed, .remote, .unknown].map { callerClass in
            let pattern = PolicyPattern(source: .callers(callerClass), scheme: nil, host: nil)
            var rule = PolicyLine(pattern, .deny, file: file, line: line, isUsers: isUsers)
            rule.isRefusal = true
            return rule
        }
    }

    /// Where the rule is, in words, or what the rule stands for.
    package var place: String {
        let file = printable(file)
        guard isRefusal else { return "in \(file), line \(line)" }
        return line == 0 ? "because \(file) cannot be used" : "because line \(line) of \(file) cannot be read"
    }

    /// The rule as users write it, such as `deny tel from sandboxed`.
    package var text: String { "\(decision.rawValue) \(pattern)" }
}

/// The administrator's and the user's rules, and the decision between them.
///
/// If several rules match a URL and its caller, one of them decides:
///
/// 1. The administrator's rules come first. The user's rules count only where none of these match, so a user cannot get
///    around the administrator with a more specific rule.
/// 2. A line that cannot be read refuses the URL, because it could have been any rule.
/// 3. The most specific rule decides: the source first, then the scheme, then the host (``PolicySpecificity``).
/// 4. Between rules for the same pattern, `deny` wins, then `ask`.
///
/// So a less specific rule never changes the decision, and the order of the lines does not matter.
package struct PolicyRules: Sendable, Hashable {
    /// The rules in the order of the files and their lines, the administrator's first.
    package let lines: [PolicyLine]
    /// The rules by their scheme, with those for every scheme under nil, each list in order of precedence.
    private let index: [Scheme?: [PolicyLine]]

    /// Creates the rules from some lines.
    package init(_ lines: [PolicyLine] = []) {
        self.lines = lines
        index = Dictionary(grouping: lines.sorted { $0.precedes($1) }) { $0.pattern.scheme }
    }

    /// Whether there are no rules.
    package var isEmpty: Bool { lines.isEmpty }

    /// Returns the rule that decides about a URL from a caller; nil if no rule matches.
    package func rule(for url: PolicyURL, from caller: PolicyCaller) -> PolicyLine? {
        if lines.isEmpty { return nil }
        let ofScheme = index[url.scheme]?.first { $0.matches(url, from: caller) }
        let ofAny = index[nil]?.first { $0.matches(url, from: caller) }
        guard let ofScheme, let ofAny else { return ofScheme ?? ofAny }
        return ofAny.precedes(ofScheme) ? ofAny : ofScheme
    }

    /// Returns the rule that decides about a URL whose caller exited before it could be identified; nil if no rule
    /// matches.
    ///
    /// Such a caller could have been anyone, and could evade a rule by exiting at once. So unless a rule is for the
    /// class `unknown`, the strictest rule for the URL decides, no matter what its source is. A user's rule for the class
    /// counts only if it is stricter than the administrator's rules.
    package func ruleForUnknownCaller(of url: PolicyURL) -> PolicyLine? {
        let matching = lines.filter { $0.isFor(url) }
        let administrators = matching.filter { !$0.isUsers }
        if let rule = Self.ruleForTheUnknown(among: administrators) { return rule }
        let strictest = { (rules: [PolicyLine]) in
            rules.filter { $0.decision != .allow }.max { $0.decision.strictness < $1.decision.strictness }
        }
        guard let own = Self.ruleForTheUnknown(among: matching) else { return strictest(matching) }
        let other = strictest(administrators)
        return other.map { $0.decision.strictness > own.decision.strictness } == true ? other : own
    }

    private static func ruleForTheUnknown(among rules: [PolicyLine]) -> PolicyLine? {
        rules.filter { $0.pattern.source == .callers(.unknown) }.sorted { $0.precedes($1) }.first
    }

    /// Returns the strictest of the rules that decide for several callers; nil if none matches any of them.
    package func strictestRule(for url: PolicyURL, from callers: [PolicyCaller]) -> PolicyLine? {
        callers.compactMap { rule(for: url, from: $0) }.max { $0.decision.strictness < $1.decision.strictness }
    }

    /// Returns an administrator's rule that covers everything to which the given pattern applies; nil if there is none.
    /// If there is one, a user's rule with the given pattern has no effect.
    package func administratorsRule(covering pattern: PolicyPattern) -> PolicyLine? {
        lines.first { !$0.isUsers && $0.pattern.covers(pattern) }
    }
}

extension PolicyLine {
    fileprivate func matches(_ url: PolicyURL, from caller: PolicyCaller) -> Bool {
        pattern.source.matches(caller) && isFor(url)
    }

    /// Returns whether the rule applies to a URL. If the URL's host is in doubt, every rule that does not allow counts.
    fileprivate func isFor(_ url: PolicyURL) -> Bool { pattern.isFor(url, isDoubtAMatch: decision != .allow) }

    /// Returns whether this rule is the one that decides if both match.
    fileprivate func precedes(_ other: PolicyLine) -> Bool {
        guard isUsers == other.isUsers else { return other.isUsers }
        guard isRefusal == other.isRefusal else { return isRefusal }
        let (left, right) = (pattern.specificity, other.pattern.specificity)
        return left == right ? decision.strictness > other.decision.strictness : left > right
    }
}

extension PolicyDecision {
    fileprivate var strictness: Int {
        switch self {
        case .allow: 0
        case .ask: 1
        case .deny: 2
        }
    }
}
