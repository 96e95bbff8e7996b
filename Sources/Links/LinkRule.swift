internal import ByteCoding
internal import RFC1808
internal import UserFiles

/// One line in a file of rules for links.
///
/// A line is `open URLS… CLAUSES…` or `drop URLS… CLAUSES…`. The clauses may have any order:
///
/// | clause | meaning |
/// |---|---|
/// | `with PROGRAM` | the program: a desktop entry's or a handler's name, `browser`, or `chooser`. `--profile NAME`, `--container NAME` and `--private` may follow |
/// | `rewritten s,PATTERN,REPLACEMENT,` | changes the URL (``LinkSubstitution``) |
/// | `without NAME…` | removes parameters from the query |
/// | `from SOURCE…` | the rule is only for links from these programs |
/// | `between TIME and TIME`, `on DAYS` | the rule is only for these times |
///
/// A rule that changes URLs needs no `with`: then the rules after it decide.
package struct LinkRule: Sendable, Hashable {
    /// The fate of a link.
    package enum Action: Sendable, Hashable {
        case open(LinkTarget)
        /// The rules after this one decide.
        case goOn
        /// The link is not opened.
        case drop
    }

    package let action: Action
    package let patterns: [LinkPattern]
    /// The programs to whose links the rule applies; empty for all.
    package let sources: [LinkSource]
    let changes: [LinkChange]
    let times: LinkTimes?
    /// The line as written, without the spaces around it and its comment.
    package let text: String
    /// The path of the file.
    package let file: String
    /// The line's number, from 1.
    package let line: Int
    /// Whether the user may change the file, because it is not the administrator's.
    package let isUsers: Bool

    /// Where the rule is, as `file:line`.
    package var place: String { "\(printable(file)):\(line)" }

    /// Whether the rule changes URLs.
    var changesURLs: Bool { !changes.isEmpty }

    /// Maximum length of a line, in bytes.
    static let maximumLength = 4096

    /// Reads a line; nil for one without a rule.
    package init?(_ text: String, file: String, line: Int, isUsers: Bool) throws(LinkSyntaxError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw LinkSyntaxError("has more than \(Self.maximumLength) bytes")
        }
        guard !text.hasTooManyMarks else {
            throw LinkSyntaxError("has more than \(String.maximumMarks) combining marks in a row")
        }
        let words = try LinkWords.words(of: text)
        guard let first = words.first else { return nil }
        var parser = LinkRuleParser(words.dropFirst())
        let isDrop: Bool
        switch asciiLowercased(first.text) {
        case "open": isDrop = false
        case "drop": isDrop = true
        default:
            throw LinkSyntaxError(
                "begins with '\(printable(first.text))': write open or drop first, as in 'open *://*.example.com/* with firefox'"
            )
        }
        try parser.parse()
        guard !parser.patterns.isEmpty else {
            throw LinkSyntaxError("has no URLs: write * or *://HOST/PATH after \(isDrop ? "drop" : "open")")
        }
        if isDrop, parser.target != nil || !parser.changes.isEmpty {
            throw LinkSyntaxError("drops the link, so it cannot open or change it")
        }
        if let target = parser.target {
            action = .open(target)
        } else if isDrop {
            action = .drop
        } else if parser.changes.isEmpty {
            throw LinkSyntaxError("has no program: write 'with' and the name of a desktop entry, as in 'with firefox'")
        } else {
            action = .goOn
        }
        patterns = parser.patterns
        sources = parser.sources
        changes = parser.changes
        times = parser.times
        self.text = words.map { $0.isQuoted ? "\"\($0.text)\"" : $0.text }.joined(separator: " ")
        self.file = file
        self.line = line
        self.isUsers = isUsers
    }

    /// Returns the changed URL.
    ///
    /// - Parameter budget: the number of steps that the changes may take, which decreases.
    func changed(_ url: GenericURL, budget: inout Int) throws(LinkChangeError) -> GenericURL {
        var url = url
        for change in changes { url = try change.changed(url, budget: &budget) }
        return url
    }

    func matches(_ link: Link, pattern: Int, from caller: LinkCaller, at moment: LinkMoment) -> Bool {
        patterns[pattern].matches(link) && (sources.isEmpty || sources.contains { $0.matches(caller) })
            && times?.contain(moment) != false
    }
}

/// Reads the words of a line after the first.
private struct LinkRuleParser {
    private var words: ArraySlice<LinkWords.Word>
    private(set) var patterns: [LinkPattern] = []
    private(set) var sources: [LinkSource] = []
    private(set) var changes: [LinkChange] = []
    private(set) var times: LinkTimes?
    private(set) var target: LinkTarget?
    private var seen: Set<String> = []

    private static let clauses: Set = ["with", "rewritten", "without", "from", "between", "on"]

    init(_ words: ArraySlice<LinkWords.Word>) {
        self.words = words
    }

    mutating func parse() throws(LinkSyntaxError) {
        while let word = nextOfClause() { patterns.append(try LinkPattern(word)) }
        while let word = words.popFirst() {
            let clause = asciiLowercased(word.text)
            if clause != "rewritten", !seen.insert(clause).inserted {
                throw LinkSyntaxError("has '\(clause)' twice")
            }
            switch clause {
            case "with": target = try readTarget()
            case "rewritten": changes.append(.rewritten(try LinkSubstitution(try next(after: clause))))
            case "without":
                let names = try all(after: clause)
                changes.append(.without(names.map { LinkGlob($0.utf8) }))
            case "from": for name in try all(after: clause) { sources.append(try LinkSource(name)) }
            case "between":
                let start = try LinkTimes.minute(try next(after: clause))
                guard asciiLowercased(try next(after: clause)) == "and" else {
                    throw LinkSyntaxError("'between' is followed by two times, as in between 09:00 and 17:00")
                }
                var times = self.times ?? LinkTimes()
                times.minutes = (start, try LinkTimes.minute(try next(after: "and")))
                self.times = times
            case "on":
                var times = self.times ?? LinkTimes()
                times.days = try LinkTimes.days(try next(after: clause))
                self.times = times
            default:
                throw LinkSyntaxError(
                    "has '\(printable(word.text))' where one of \(Self.clauses.sorted().joined(separator: ", ")) is expected"
                )
            }
        }
    }

    /// Takes the next word, unless it begins a clause.
    private mutating func nextOfClause() -> String? {
        guard let word = words.first, word.isQuoted || !Self.clauses.contains(asciiLowercased(word.text)) else {
            return nil
        }
        return words.removeFirst().text
    }

    private mutating func next(after word: String) throws(LinkSyntaxError) -> String {
        guard let next = words.popFirst()?.text else { throw LinkSyntaxError("ends after '\(word)'") }
        return next
    }

    private mutating func all(after word: String) throws(LinkSyntaxError) -> [String] {
        var all = [try next(after: word)]
        while let next = nextOfClause() { all.append(next) }
        return all
    }

    private mutating func readTarget() throws(LinkSyntaxError) -> LinkTarget {
        var target = try LinkTarget(named: try next(after: "with"))
        while let option = nextOfClause() {
            switch option {
            case LinkTarget.profileOption: target.profile = try name(after: option)
            case LinkTarget.containerOption: target.container = try name(after: option)
            case LinkTarget.privateOption: target.isPrivate = true
            default:
                throw LinkSyntaxError(
                    "has '\(printable(option))' after the program: write --profile, --container or --private"
                )
            }
        }
        if target.program == .chooser, target != LinkTarget(.chooser) {
            throw LinkSyntaxError("has an option for the chooser, which has none")
        }
        return target
    }

    private mutating func name(after option: String) throws(LinkSyntaxError) -> String {
        let name = try next(after: option)
        guard LinkTarget.isName(name) else { throw LinkSyntaxError("'\(printable(name))' is not a name") }
        return name
    }
}
