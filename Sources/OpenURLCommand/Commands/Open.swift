internal import ArgumentParser
internal import DBus
internal import OpenURLBus

struct Open: Command {
    static let name = "open"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Open URLs in order (what happens without a command, too).",
        discussion: """
            Returns when every handler has answered, with --queue when every URL is on the disk. All URLs are tried; the exit status is that of the first failure. The \
            tokens in XDG_ACTIVATION_TOKEN and DESKTOP_STARTUP_ID are passed on, so that the handler may take the focus.
            """
    )

    @Option(help: "Open with this handler only.", transform: CommandLineArgument.requiredText)
    var handler: String?

    @Option(
        help: .init("Hand the handler something besides the URL; repeat for more.", valueName: "key=value"),
        transform: KeyValue.init
    )
    var annotation: [KeyValue] = []

    @Option(help: .init("The longest time for each URL: 5s, 500ms, 2m.", valueName: "time"), transform: TimeLimit.init)
    var timeout: TimeLimit?

    @Option(help: .init("Open this URL instead of one that nothing handles; repeat for more.", valueName: "url"))
    var fallback: [CommandLineArgument] = []

    @Flag(help: "Leave the foreground as it is.")
    var background = false

    @Flag(help: "Store the URL, return, and deliver it when that is possible.")
    var queue = false

    @OptionGroup var outputOptions: OutputOptions

    @Flag(help: "Print nothing on standard error.")
    var quiet = false

    @Flag(help: "Print the handler and every step with its time.")
    var verbose = false

    @Argument(help: .init("What to open.", valueName: "url"))
    var urls: [CommandLineArgument]

    func perform(_ invocation: Invocation) -> Int32 {
        var options = OpenOptions()
        options.handler = handler
        options.timeout = timeout?.duration
        options.inBackground = background
        options.isQueued = queue
        if !annotation.isEmpty {
            let entries = annotation.map { (Value.string($0.key), Value.string($0.value)) }
            options.annotation = .dictionary(Dictionary(entries) { $1 }, key: "s", value: "s")
        }
        let operation = OpenOperation(
            urls: urls,
            fallback: fallback,
            options: options,
            report: outputOptions.json ? .json : verbose ? .trace : .nothing,
            isQuiet: quiet
        )
        return operation.perform(invocation)
    }
}
