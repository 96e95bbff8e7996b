internal import UserFiles

/// The answer of a site to the question which apps get its links: the standard output of `openurl-proofs`.
///
/// It is text, one fact a line, so that the router needs no reader of JSON. A text that differs in anything from what
/// ``text`` writes is not an answer.
public struct SiteAnswer: Sendable, Hashable {
    /// The site's statement about an app.
    public struct App: Sendable, Hashable {
        /// The paths that the app gets.
        public var rules: PathRules
        /// Whether the site gives its links only to an app that the administrator has installed.
        public var isForAdministratorsOnly: Bool

        /// Why the file gives the app nothing, although it names it; nil if it gives it the paths.
        public var problem: String?

        /// Creates a statement that the file names the app, but gives it nothing.
        public init(problem: String) {
            rules = .none
            isForAdministratorsOnly = false
            self.problem = SiteAnswer.line(problem)
        }

        /// Creates a statement.
        public init(_ rules: PathRules, isForAdministratorsOnly: Bool = false) {
            self.rules = rules
            self.isForAdministratorsOnly = isForAdministratorsOnly
        }
    }

    /// The result of asking.
    public enum Outcome: Sendable, Hashable {
        /// The site has a file. An app that is not among these is not named there.
        case file([String: App])
        /// The site has answered without a usable file, for this reason.
        case noFile(String)
        /// The site has not answered, for this reason.
        case unreachable(String)
    }

    /// The host that was asked.
    public let host: WebHost
    /// The result.
    public let outcome: Outcome

    /// Maximum size of the text in bytes.
    public static let maximumSize = 48 << 10
    /// Maximum number of apps in one question.
    public static let maximumApps = 16
    /// Maximum length of a reason in bytes.
    private static let maximumReason = 200

    private static let title = "openurl-proofs 1"
    private static let end = "end"
    private static let onlyAdministrators = "system"
    private static let problem = "problem "

    /// Creates an answer. A reason is cut off and made printable.
    public init(_ host: WebHost, _ outcome: Outcome) {
        self.host = host
        self.outcome =
            switch outcome {
            case .file: outcome
            case .noFile(let reason): .noFile(Self.line(reason))
            case .unreachable(let reason): .unreachable(Self.line(reason))
            }
    }

    fileprivate static func line(_ reason: String) -> String {
        let text = String(printable(reason).prefix(maximumReason))
        return text.isEmpty ? "no reason" : text
    }

    /// The answer as text.
    public var text: String {
        var lines = [Self.title, "host \(host)"]
        switch outcome {
        case .noFile(let reason): lines.append("none \(reason)")
        case .unreachable(let reason): lines.append("unreachable \(reason)")
        case .file(let apps):
            lines.append("file")
            for (id, app) in apps.sorted(by: { $0.key < $1.key }) {
                lines.append("app \(id)")
                if let problem = app.problem { lines.append("\(Self.problem)\(problem)") }
                if app.isForAdministratorsOnly { lines.append(Self.onlyAdministrators) }
                lines += app.rules.lines
            }
        }
        return (lines + [Self.end, ""]).joined(separator: "\n")
    }

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - host: the host that was asked. An answer about another one is not an answer.
    ///   - apps: the apps that the question named. An answer that names others is not an answer.
    /// - Returns: nil if the bytes are not an answer.
    public init?(bytes: [UInt8], from host: WebHost, about apps: Set<String>) {
        guard bytes.count <= Self.maximumSize, let text = String(validating: bytes, as: UTF8.self),
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "\n") || (0x20..<0x7F).contains($0) })
        else { return nil }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)[...]
        guard lines.popFirst() == Self.title, lines.popFirst() == "host \(host)", lines.popLast() == "",
            lines.popLast() == Self.end, let first = lines.popFirst()
        else { return nil }
        let outcome: Outcome
        if first == "file" {
            guard let found = Self.apps(in: &lines, about: apps) else { return nil }
            outcome = .file(found)
        } else if first.hasPrefix("none ") {
            outcome = .noFile(String(first.dropFirst("none ".count)))
        } else if first.hasPrefix("unreachable ") {
            outcome = .unreachable(String(first.dropFirst("unreachable ".count)))
        } else {
            return nil
        }
        self.init(host, outcome)
        // Two texts for one answer would be a way to hide something from a reader.
        guard lines.isEmpty, self.text.utf8.elementsEqual(bytes) else { return nil }
    }

    private static func apps(in lines: inout ArraySlice<String>, about asked: Set<String>) -> [String: App]? {
        var apps: [String: App] = [:]
        while let line = lines.popFirst() {
            guard line.hasPrefix("app ") else { return nil }
            let id = String(line.dropFirst("app ".count))
            guard asked.contains(id), apps[id] == nil else { return nil }
            if let first = lines.first, first.hasPrefix(problem) {
                apps[id] = App(problem: String(first.dropFirst(problem.count)))
                lines.removeFirst()
                continue
            }
            let isForAdministratorsOnly = lines.first == onlyAdministrators
            if isForAdministratorsOnly { lines.removeFirst() }
            let rest = lines.prefix { !$0.hasPrefix("app ") }
            guard let rules = PathRules(lines: Array(rest)) else { return nil }
            lines = lines.dropFirst(rest.count)
            apps[id] = App(rules, isForAdministratorsOnly: isForAdministratorsOnly)
        }
        return apps
    }
}
