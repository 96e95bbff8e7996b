internal import Logging
internal import Policy
internal import UserFiles

/// Rules as they were read.
struct RuleSnapshot<Rules: Sendable>: Sendable {
    /// The number of this snapshot. If another one has a greater number, this one is out of date.
    let number: Int
    let rules: Rules
    /// Problems in the files, one line of text for each.
    let problems: [String]
    /// Whether the files have to be read again, because of a temporary error.
    let isStale: Bool
    /// Whether the user's file is among these files.
    let isUsersStale: Bool

    /// Creates the snapshot from before the files were read.
    init(unread rules: Rules) {
        self.init(number: 0, rules: rules, problems: [], isStale: false, isUsersStale: false)
    }

    fileprivate init(number: Int, rules: Rules, problems: [String], isStale: Bool, isUsersStale: Bool) {
        self.number = number
        self.rules = rules
        self.problems = problems
        self.isStale = isStale
        self.isUsersStale = isUsersStale
    }
}

/// Reads the files of one kind of rules again and again. The problems in them are logged once, and again only after they
/// were gone.
///
/// Reading blocks, so it belongs to an actor with a thread of its own.
struct RuleReader<Source: RuleSource> {
    let source: Source
    private let log: Logger
    private var texts: RuleTexts?
    private var number = 0
    private var problems: Set<String> = []

    init(_ source: Source, log: Logger) {
        self.source = source
        self.log = log
    }

    /// Reads the rules. Where a temporary error prevents this, those that were read before stay in force.
    mutating func read() -> RuleSnapshot<Source.Rules> {
        let texts = source.files.read(after: self.texts)
        self.texts = texts
        let (rules, diagnostics) = source.rules(in: texts)
        let current = diagnostics.map(\.description)
        for problem in current where !problems.contains(problem) { log.warning("\(problem)") }
        problems = Set(current)
        number += 1
        return RuleSnapshot(
            number: number,
            rules: rules,
            problems: current,
            isStale: texts.isStale,
            isUsersStale: texts.isUsersStale
        )
    }
}
