internal import ArgumentParser
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Monitor: Command {
    static let configuration = CommandConfiguration(
        commandName: "monitor",
        abstract: translated("Watch requests as they happen, until Ctrl-C."),
        discussion: translated(
            """
            On a terminal, each request has one line, which grows with its steps. Elsewhere, each finished request is a line of \
            fields separated by tabs.
            '…' replaces possible secrets: queries, fragments, parameters, users and passwords.
            """
        ),
        examples: [
            "openurl monitor",
            "openurl monitor --scheme todolist -v",
        ]
    )

    @OptionGroup var filter: MonitorFilterOptions

    @Flag(help: .init(translated("Show queries, fragments and parameters, which often hold secrets.")))
    var showQueries = false

    @Option(
        name: [.customShort("n", allowingJoined: true), .long],
        help: .init(translated("Stop after this many requests."), valueName: "number"),
        transform: { try PositiveCount($0).value }
    )
    var count: Int?

    @OptionGroup var display: MonitorDisplayOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        var options = MonitorOptions()
        options.showsQueries = showQueries
        let operation = MonitorOperation(filter.filter, display, options, count: count, invocation)
        return try operation.perform()
    }
}

/// Options that select requests.
struct MonitorFilterOptions: ParsableArguments {
    @Option(
        help: .init(translated("Show only URLs with this scheme.")),
        completion: .schemes,
        transform: CommandLineArgument.requiredText
    )
    var scheme: String?

    @Option(
        help: .init(translated("Show only requests for this handler or application."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var handler: String?

    @Option(
        help: .init(translated("Show only requests from this program: its identifier, path or name."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var source: String?

    @Flag(help: .init(translated("Show only requests that failed.")))
    var failed = false

    var filter: MonitorFilter {
        var filter = MonitorFilter()
        filter.scheme = scheme
        filter.handler = handler
        filter.source = source
        filter.isForFailures = failed
        return filter
    }
}

/// Options for how requests are displayed.
struct MonitorDisplayOptions: ParsableArguments {
    @Flag(
        name: .shortAndLong,
        help: .init(
            translated(
                """
                Print the rule, the decision and the steps below each request, and on a terminal the whole URL. \
                JSON always has them.
                """
            )
        )
    )
    var verbose = false

    @OptionGroup var outputOptions: OutputOptions
}

/// A number above zero on the command line.
struct PositiveCount {
    let value: Int

    init(_ argument: String) throws {
        guard let value = Int(argument), value > 0 else {
            throw ValidationError(translated("give a number of requests above 0"))
        }
        self.value = value
    }
}
