internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Policy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: translated("Show and change the rules about URLs."),
        discussion: translated(
            """
            A rule allows URLs, denies them, or asks about them. It covers a source and the URLs of a scheme, or of a scheme \
            and a host. The most specific rule decides: the source counts first, then the scheme, then the host. \
            The administrator's rules come before yours.

            SOURCE is an identifier such as com.acme.app or com.acme.*, a class (user, handler, sandboxed, remote, unknown), \
            host:NAME, container:NAME, app:NAME, or '*'. URLS is SCHEME, SCHEME://HOST, or '*'.
            """
        ),
        examples: [
            "openurl policy deny tel --source sandboxed",
            "openurl policy ask todolist://work",
        ],
        subcommands: [
            PolicyList.self, PolicyAllow.self, PolicyDeny.self, PolicyAsk.self, PolicyForget.self, PolicyReset.self,
        ],
        defaultSubcommand: PolicyList.self
    )
}

struct PolicyList: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: translated("List the rules with their files."),
        discussion: translated("Problems in the files are printed on standard error."),
        examples: [
            "openurl policy list",
            "openurl policy list --wide",
        ]
    )

    @OptionGroup var tableOptions: TableOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let (rules, problems) = try RouterClient(on: invocation).call(PolicyInterface.rules, Empty()).values
        if tableOptions.json {
            for rule in rules { invocation.output.print(JSON(rule).text) }
        } else {
            Table(
                columns: [
                    Column(translated("DECISION")), Column(translated("URLS"), .cut(least: 16)),
                    Column(translated("SOURCE"), .cut(least: 16)),
                    Column(translated("FILE"), .cut(least: 16)),
                ],
                rows: rules.map(\.row),
                empty: translated("There are no rules. Add one with 'openurl policy allow', 'deny' or 'ask'.")
            ).print(invocation, isWide: tableOptions.wide)
        }
        for problem in problems { invocation.errors.print(problem) }
        let restricting = rules.filter { $0.decision != .allow }
        if let application = restricting.lazy.compactMap({ application(inSource: $0.source) }).first {
            invocation.errors.print(blindSpot(ofRuleFor: application))
        }
        return 0
    }
}

struct PolicyAllow: PolicySetting {
    static let configuration = CommandConfiguration(
        commandName: "allow",
        abstract: translated("Allow URLs."),
        examples: [
            "openurl policy allow todolist",
            "openurl policy allow todolist://work --source com.acme.mail",
        ]
    )
    @OptionGroup var pattern: PatternArguments
    var decision: PolicyDecision { .allow }
}

struct PolicyDeny: PolicySetting {
    static let configuration = CommandConfiguration(
        commandName: "deny",
        abstract: translated("Deny URLs."),
        examples: [
            "openurl policy deny tel --source sandboxed",
            "openurl policy deny '*' --source com.acme.mail",
        ]
    )
    @OptionGroup var pattern: PatternArguments
    var decision: PolicyDecision { .deny }
}

struct PolicyAsk: PolicySetting {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: translated("Ask before URLs are opened."),
        examples: [
            "openurl policy ask todolist",
            "openurl policy ask todolist://work --source com.acme.mail",
        ]
    )
    @OptionGroup var pattern: PatternArguments
    var decision: PolicyDecision { .ask }
}

/// A command that writes a rule into the user's file.
protocol PolicySetting: Command {
    var pattern: PatternArguments { get }
    var decision: PolicyDecision { get }
}

extension PolicySetting {
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let (source, scheme, host) = pattern.parts
        let input = Arguments(source, scheme, host, decision.rawValue)
        _ = try RouterClient(on: invocation).call(PolicyInterface.set, input, refusal: ExitStatus.failure)
        pattern.report([("decision", .string(decision.rawValue))], invocation)
        if let application = application(inSource: source) {
            let urls = shellWord(scheme + (host.isEmpty ? "" : "://\(host)"))
            let note = blindSpot(ofRuleFor: application)
            let command = "openurl policy \(decision.rawValue) --source sandboxed \(urls)"
            invocation.errors.print(
                decision == .allow ? note : translated("\(note); '\(command)' covers all of them")
            )
        }
        return 0
    }
}

/// Returns the application, or the prefix of several applications, that a source specifies; nil for any other source.
private func application(inSource source: String) -> String? {
    guard source != "*", CallerClass(rawValue: source) == nil, !source.hasPrefix("host:"),
        !source.hasPrefix("container:")
    else { return nil }
    return source.hasPrefix("app:") ? String(source.dropFirst("app:".count)) : source
}

/// Explains which URLs a rule for an application does not cover.
private func blindSpot(ofRuleFor application: String) -> String {
    translated(
        """
        if \(application) runs in a sandbox, a rule for it only covers the URLs that it opens through the portal if \
        the portal lets openurl choose the application (openurl-portal), and only while the program that opens them \
        is still running, unlike 'xdg-open' in a Flatpak
        """
    )
}

/// Quotes a scheme or a host, or a pattern for either, for a shell.
private func shellWord(_ text: String) -> String { text.contains("*") ? "\"\(text)\"" : text }

struct PolicyReset: Command {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: translated("Remove your rule for a source and URLs, or all of your rules."),
        discussion: translated("Keeps the comments in the file."),
        examples: [
            "openurl policy reset tel --source sandboxed",
            "openurl policy reset --all",
        ]
    )

    @Flag(help: .init(translated("Remove all of your rules.")))
    var all = false

    @OptionGroup var pattern: OptionalPatternArguments

    func validate() throws { try pattern.validate(all: all) }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        if all {
            _ = try router.call(PolicyInterface.reset, Empty(), refusal: ExitStatus.failure)
        } else {
            let (source, scheme, host) = pattern.parts(everySource: "*")
            _ = try router.call(PolicyInterface.remove, Arguments(source, scheme, host), refusal: ExitStatus.failure)
        }
        pattern.reportRule(all: all, invocation)
        return 0
    }
}

struct PolicyForget: Command {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: translated("Forget remembered answers."),
        discussion: translated("'openurl permissions' lists the answers. With --json, prints how many were forgotten."),
        examples: [
            "openurl policy forget todolist",
            "openurl policy forget --source com.acme.mail",
        ]
    )

    @Flag(help: .init(translated("Forget all answers.")))
    var all = false

    @OptionGroup var pattern: OptionalPatternArguments

    func validate() throws { try pattern.validate(all: all) }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let (source, scheme, host) = pattern.parts(everySource: "")
        let input = Arguments(source, scheme, host)
        let count = try RouterClient(on: invocation)
            .call(PolicyInterface.forget, input, refusal: ExitStatus.failure)
        if pattern.outputOptions.json { invocation.output.print(JSON.object([("count", .number(count))]).text) }
        guard count == 0, !all else { return 0 }
        let message = translated("there is no such answer; 'openurl permissions' lists the remembered answers")
        throw CommandFailure(.failed, message, exitStatus: ExitStatus.failure)
    }
}

extension PolicyRule {
    /// The scheme and host in the form of a rule.
    var urls: String { scheme + (host.map { "://\($0)" } ?? "") }

    /// The file and line of the rule.
    var place: String { "\(file):\(line)" }

    fileprivate var row: [Cell] {
        [Cell(decision.rawValue, as: decision.meaning), Cell(urls), Cell(source), Cell(place)]
    }
}

extension PolicyDecision {
    /// The colour of the decision.
    var meaning: TerminalStyle.Meaning {
        switch self {
        case .allow: .good
        case .ask: .pending
        case .deny: .bad
        }
    }
}
