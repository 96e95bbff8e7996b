internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Reactor
internal import Translations
internal import URLOpener

struct Log: Command {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: translated("Show the requests from the last 30 days."),
        discussion: translated(
            """
            The router keeps the last 10,000 finished requests, without queries and other possible secrets. \
            OPENURL_LOG=off in the router's environment turns the log off.
            """
        ),
        examples: [
            "openurl log --since 1h --failed",
            "openurl log -n 20 -v",
        ]
    )

    @Option(
        help: .init(
            translated(
                "Show requests since this time: 10m, 2h or 3d ago, or a date and time such as 2026-05-04T09:30."
            ),
            valueName: "time"
        ),
        transform: PastTime.init
    )
    var since: PastTime?

    @Option(
        name: [.customShort("n", allowingJoined: true), .long],
        help: .init(translated("Show at most this many requests, the latest ones."), valueName: "number"),
        transform: { try PositiveCount($0).value }
    )
    var limit: Int?

    @OptionGroup var filter: MonitorFilterOptions

    @OptionGroup var display: MonitorDisplayOptions

    @Flag(help: .init(translated("Print who opens whom as a graph in DOT, the language of Graphviz.")))
    var graph = false

    func validate() throws {
        if graph, display.verbose || display.outputOptions.json {
            throw ValidationError(translated("use --graph without --json and --verbose"))
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        var filter = filter.filter
        filter.since = since.map { $0.microseconds(before: WallClock.microseconds) }
        let entries = try RouterClient(on: invocation).loggedRequests(filter, limit: limit ?? .max)
        if graph {
            RequestGraph(entries).print(to: invocation.output)
        } else {
            let view = RequestView(display, invocation)
            for entry in entries { view.show(entry) }
            if entries.isEmpty, invocation.output.isTerminal, !display.outputOptions.json {
                invocation.output.print(
                    translated("The log shows no requests. 'openurl monitor' shows them as they come.")
                )
            }
        }
        return 0
    }
}
