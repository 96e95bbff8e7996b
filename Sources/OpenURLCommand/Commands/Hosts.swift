internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Hosts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hosts",
        abstract: translated("Show and change the hosts for 'openurl open --to'."),
        examples: [
            "openurl hosts",
            "openurl hosts add laptop alice@laptop.example",
        ],
        subcommands: [HostsList.self, HostsAdd.self, HostsRemove.self],
        defaultSubcommand: HostsList.self
    )
}

struct HostsList: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: translated("List the hosts, and how many URLs wait for each."),
        discussion: translated(
            """
            NEXT is the time when a host that cannot be reached is tried again. Problems in the file with the hosts are printed on \
            standard error.
            """
        ),
        examples: [
            "openurl hosts list",
            "openurl hosts list --json",
        ]
    )

    @OptionGroup var tableOptions: TableOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        show(try router.call(HostsInterface.list, Empty(), refusal: ExitStatus.failure), invocation)
        for problem in try router.call(HostsInterface.problems, Empty(), refusal: ExitStatus.failure) {
            invocation.errors.print(problem)
        }
        return 0
    }

    private func show(_ hosts: [HostEntry], _ invocation: Invocation) {
        if tableOptions.json {
            for host in hosts { invocation.output.print(JSON(host).text) }
            return
        }
        let isBrief = invocation.output.isTerminal && !tableOptions.wide
        let columns: [Column] = [
            Column(translated("HOST"), .cut(least: 12)), Column(translated("STATE")), Column(translated("WAITING")),
            Column(translated("NEXT")), Column(translated("ADDRESS"), .cut(least: 16)), Column(translated("ERROR")),
        ]
        Table(
            columns: isBrief ? columns.dropLast() : columns,
            rows: hosts.map { isBrief ? $0.row.dropLast() : $0.row },
            empty: translated("There are no hosts. 'openurl hosts add NAME USER@HOST' adds one.")
        ).print(invocation, isWide: tableOptions.wide)
        if isBrief { invocation.print(notes: hosts.compactMap(\.note)) }
    }
}

struct HostsAdd: Command {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: translated("Add a host, or change its address."),
        discussion: translated(
            """
            ssh must reach the host with a key and without questions, and must know it already. --bridge is for a host, a \
            group such as @kiosks, or with '*' all hosts without an address, that openurl-bridge reaches.
            """
        ),
        examples: [
            "openurl hosts add laptop alice@laptop.example",
            "openurl hosts add --bridge @kiosks",
        ]
    )

    @Flag(help: .init(translated("The host is reached through openurl-bridge.")))
    var bridge = false

    @Argument(
        help: .init(translated("Your name for the host."), valueName: "name"),
        transform: CommandLineArgument.requiredText
    )
    var name: String

    @Argument(
        help: .init(translated("The host as ssh knows it."), valueName: "[user@]host"),
        transform: CommandLineArgument.requiredText
    )
    var address: String?

    func validate() throws {
        if bridge == (address == nil) { return }
        throw ValidationError(
            bridge
                ? translated("use --bridge without an address") : translated("give the host's address, or use --bridge")
        )
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let input = Arguments(name, address.map { "ssh:\($0)" } ?? "bridge:")
        _ = try RouterClient(on: invocation).call(HostsInterface.add, input, refusal: ExitStatus.failure)
        return 0
    }
}

struct HostsRemove: Command {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: translated("Remove hosts."),
        discussion: translated("URLs for a host that is removed stay in the queue until you drop them."),
        examples: [
            "openurl hosts remove laptop",
            "openurl hosts remove --json laptop kiosk-1",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The name of a host, as 'openurl hosts' shows it."), valueName: "name"),
        completion: .hosts,
        transform: CommandLineArgument.requiredText
    )
    var names: [String]

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let batch = Batch(key: "name", printsJSON: outputOptions.json, invocation: invocation)
        return batch.perform(names, name: \.self) { (name) throws(CommandFailure) in
            do throws(CommandFailure) {
                _ = try router.call(HostsInterface.remove, name, refusal: ExitStatus.failure)
            } catch {
                throw error.ofMissingItem
            }
            if outputOptions.json { invocation.output.print(JSON.object([("name", .string(name))]).text) }
        }
    }
}

extension HostName {
    /// Reads a name on the command line.
    init(argument: String) throws {
        guard let name = HostName(rawValue: argument) else {
            throw ValidationError(
                translated(
                    "a host's name has 1 to 64 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit"
                )
            )
        }
        self = name
    }
}

extension HostEntry {
    var row: [Cell] {
        [
            Cell(name), Cell(state.rawValue, as: state.meaning), Cell("\(waiting)"),
            next.map { Cell(time: $0) } ?? .absent,
            Cell(address), problem.map { Cell($0) } ?? .absent,
        ]
    }

    fileprivate var note: String? { problem.map { "\(name): \($0)" } }
}

extension HostEntry.State {
    fileprivate var meaning: TerminalStyle.Meaning? {
        switch self {
        case .connecting: .pending
        case .connected: .good
        case .unreachable: .bad
        case .idle, .bridged: nil
        }
    }
}
