internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import URLOpener

struct Permissions: Command {
    static let configuration = CommandConfiguration(
        commandName: "permissions",
        abstract: "List who may open which URLs, by rule or by remembered answer.",
        discussion: "'openurl policy reset' removes a rule, and 'openurl policy forget' an answer."
    )

    @OptionGroup var outputOptions: OutputOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let rules = try router.call(PolicyInterface.rules, Empty()).values.0
        let answers = try router.call(PolicyInterface.answers, Empty())
        guard !outputOptions.json else {
            for rule in rules { invocation.output.print(rule.json(from: "rule").text) }
            for answer in answers { invocation.output.print(answer.json(from: "answer").text) }
            return 0
        }
        let header = ["SOURCE", "DECISION", "URLS", "HANDLER", "SINCE", "USES", "FROM"]
        Table(header: header, rows: rules.map(\.permission) + answers.map(\.permission)).print(to: invocation.output)
        return 0
    }
}

extension Record {
    /// Returns the value as an object that also says where the permission comes from.
    fileprivate func json(from origin: String) -> JSON {
        let members = members.map { (name: $0.key, value: $0.content.map { JSON($0) } ?? .null) }
        return .object([("from", .string(origin))] + members)
    }
}

extension PolicyRule {
    fileprivate var permission: [String] {
        [source, decision.rawValue, urls, Table.absent, Table.absent, Table.absent, place]
    }
}

extension PolicyAnswer {
    fileprivate var permission: [String] {
        let urls = scheme + (host.map { "://\($0)" } ?? "")
        return [source, decision.rawValue, urls, handler, LocalTime.text(date), "\(uses)", "answer"]
    }
}
