internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Permissions: Command {
    static let configuration = CommandConfiguration(
        commandName: "permissions",
        abstract: translated("List who may open which URLs."),
        discussion: translated(
            """
            Lists rules and remembered answers. 'openurl policy reset' removes a rule, and 'openurl policy forget' an answer.
            """
        ),
        examples: [
            "openurl permissions",
            "openurl permissions --json",
        ]
    )

    @OptionGroup var tableOptions: TableOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let rules = try router.call(PolicyInterface.rules, Empty()).values.0
        let answers = try router.call(PolicyInterface.answers, Empty())
        guard !tableOptions.json else {
            for rule in rules { invocation.output.print(rule.json(from: "rule").text) }
            for answer in answers { invocation.output.print(answer.json(from: "answer").text) }
            return 0
        }
        Table(
            columns: [
                Column(translated("SOURCE"), .cut(least: 12)), Column(translated("DECISION")),
                Column(translated("URLS"), .cut(least: 12)),
                Column(translated("HANDLER"), .cut(least: 10)), Column(translated("SINCE")), Column(translated("USES")),
                Column(translated("FROM"), .cut(least: 8)),
            ],
            rows: rules.map(\.permission) + answers.map(\.permission),
            empty: translated("There are no rules and no remembered answers. Add a rule with 'openurl policy'.")
        ).print(invocation, isWide: tableOptions.wide)
        return 0
    }
}

extension Record {
    /// Returns the value as an object that also shows where the permission comes from.
    fileprivate func json(from origin: String) -> JSON {
        let members = members.map { (name: $0.key, value: $0.content.map { JSON($0) } ?? .null) }
        return .object([("from", .string(origin))] + members)
    }
}

extension PolicyRule {
    fileprivate var permission: [Cell] {
        [
            Cell(source), Cell(decision.rawValue, as: decision.meaning), Cell(urls), .absent, .absent, .absent,
            Cell(place),
        ]
    }
}

extension PolicyAnswer {
    fileprivate var permission: [Cell] {
        let urls = scheme + (host.map { "://\($0)" } ?? "")
        return [
            Cell(source), Cell(decision.rawValue, as: decision.meaning), Cell(urls), Cell(handler), Cell(time: date),
            Cell("\(uses)"), "answer",
        ]
    }
}
