/// The paths of a host that an app gets: patterns and exclusions in order, of which the first that matches decides.
public struct PathRules: Sendable, Hashable {
    /// A pattern, or an exclusion.
    public struct Rule: Sendable, Hashable {
        /// The pattern.
        public let pattern: PathPattern
        /// Whether the paths that match are not for the app.
        public let isExcluded: Bool

        /// Creates a rule.
        public init(_ pattern: PathPattern, isExcluded: Bool = false) {
            self.pattern = pattern
            self.isExcluded = isExcluded
        }
    }

    /// The rules in order.
    public let rules: [Rule]

    /// Maximum number of rules.
    public static let maximumCount = 64
    /// Maximum size of all ``lines`` together, in bytes.
    public static let maximumSize = 4096

    /// The rules for every path.
    public static let all = PathRules(checked: [Rule(.all)])

    /// No path.
    static let none = PathRules(checked: [])

    private init(checked rules: [Rule]) {
        self.rules = rules
    }

    /// Creates a list; nil if there are more than ``maximumCount`` rules, or if they are larger than ``maximumSize``.
    public init?(_ rules: [Rule]) {
        guard rules.count <= Self.maximumCount else { return nil }
        self.rules = rules
        guard lines.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumSize else { return nil }
    }

    /// Returns the narrowest of the patterns that give a path to the app; nil if the path is not for the app.
    ///
    /// Exclusions ignore the case of ASCII letters, because some servers do.
    public func pattern(for path: LinkPath) -> PathPattern? {
        var narrowest: PathPattern?
        for rule in rules where rule.pattern.matches(path, ignoringCase: rule.isExcluded) {
            if rule.isExcluded { break }
            if narrowest.map({ $0.length < rule.pattern.length }) ?? true { narrowest = rule.pattern }
        }
        return narrowest
    }

    /// The rules as lines of text: `+` or `-`, a space, and the pattern.
    public var lines: [String] { rules.map { "\($0.isExcluded ? "-" : "+") \($0.pattern)" } }

    /// Reads rules from ``lines``; nil if one of them is not a rule, or if they are too many or too large.
    public init?(lines: [String]) {
        guard lines.count <= Self.maximumCount else { return nil }
        var rules: [Rule] = []
        for line in lines {
            guard line.hasPrefix("+ ") || line.hasPrefix("- ") else { return nil }
            do throws(PathPattern.ParseError) {
                rules.append(Rule(try PathPattern(String(line.dropFirst(2))), isExcluded: line.hasPrefix("-")))
            } catch {
                return nil
            }
        }
        self.init(rules)
    }
}
