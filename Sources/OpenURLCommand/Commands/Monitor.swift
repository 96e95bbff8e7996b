internal import ArgumentParser
internal import OpenURLBus
internal import URLOpener

struct Monitor: Command {
    static let configuration = CommandConfiguration(
        commandName: "monitor",
        abstract: "Watch the router's requests as they happen, until Ctrl-C.",
        discussion: """
            On a terminal, a request has one line, which grows with its steps. Elsewhere, each request that ends is a line of \
            fields between tabs.
            '…' stands for what may be a secret: queries, fragments, parameters, users and passwords.
            """
    )

    @OptionGroup var filter: MonitorFilterOptions

    @Flag(help: "Show queries, fragments and parameters, which often hold secrets.")
    var showQueries = false

    @Option(
        help: .init("End after this number of requests.", valueName: "number"),
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

/// The options that select requests.
struct MonitorFilterOptions: ParsableArguments {
    @Option(help: "Select URLs of this scheme.", completion: .schemes, transform: CommandLineArgument.requiredText)
    var scheme: String?

    @Option(
        help: .init("Select requests for this handler or application.", valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var handler: String?

    @Option(
        help: .init("Select requests of this program: its identifier, path or name.", valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var source: String?

    @Flag(help: "Select requests that have failed.")
    var failed = false

    /// The filter.
    var filter: MonitorFilter {
        var filter = MonitorFilter()
        filter.scheme = scheme
        filter.handler = handler
        filter.source = source
        filter.isForFailures = failed
        return filter
    }
}

/// The options that say how requests look.
struct MonitorDisplayOptions: ParsableArguments {
    @Flag(help: "Print the rule, the policy's decision and the steps below each request; on a terminal also the URL.")
    var verbose = false

    @OptionGroup var outputOptions: OutputOptions
}

/// A number above zero on the command line.
struct PositiveCount {
    let value: Int

    init(_ argument: String) throws {
        guard let value = Int(argument), value > 0 else { throw ValidationError("a number of requests is above 0") }
        self.value = value
    }
}
