internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Reactor
internal import Translations
internal import URLOpener

struct Open: Command {
    static let name = "open"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: translated("Open URLs and files in order (the default command)."),
        discussion: translated(
            """
            An argument without a scheme is the path of a file; write ./NAME if the name is a command or has a colon.
            Returns when every handler has answered, or with --queue, --at or --notify when every URL is on the \
            disk. A failure does not stop the rest; the exit status is that of the first failure. Passes on the tokens in XDG_ACTIVATION_TOKEN and \
            DESKTOP_STARTUP_ID, so that the handler can take the focus.
            """
        ),
        examples: [
            "openurl 'todolist:?Buy%20milk'",
            "openurl open --at 'tomorrow 9:00' 'todolist:?Buy%20milk'",
        ]
    )

    @Option(
        help: .init(translated("Open with this handler only.")),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var handler: String?

    @Option(
        help: .init(
            translated("Escape a parameter and add it to the query of each URL; repeat for more."),
            valueName: "key=value"
        ),
        transform: { try KeyValue($0, form: translated("write a parameter as key=value")) }
    )
    var query: [KeyValue] = []

    @Option(
        help: .init(
            translated("Pass a value to the handler along with the URL; repeat for more."),
            valueName: "key=value"
        ),
        transform: KeyValue.init
    )
    var annotation: [KeyValue] = []

    @Option(
        help: .init(
            translated("Pass an open file to the handler; '-' is standard input; repeat for more."),
            valueName: "key=file"
        ),
        transform: KeyedFile.init
    )
    var attach: [KeyedFile] = []

    @Option(
        help: .init(
            translated("Save a value of the handler's reply in a file; '-' is standard output; repeat for more."),
            valueName: "key=file"
        ),
        transform: KeyedFile.init
    )
    var save: [KeyedFile] = []

    @Option(
        help: .init(translated("Set the time limit for each URL, such as 5 or 5s, 500ms or 2m."), valueName: "time"),
        transform: TimeLimit.init
    )
    var timeout: TimeLimit?

    @Option(
        help: .init(translated("Open this URL if a URL has no handler; repeat for more."), valueName: "url"),
        completion: .urls,
        transform: CommandLineArgument.required
    )
    var fallback: [CommandLineArgument] = []

    @Option(
        help: .init(translated("Treat the URLs as passed by the desktop through this entry."), valueName: "file"),
        transform: CommandLineArgument.requiredText
    )
    var desktopEntry: String?

    @Option(
        help: .init(
            translated("Write the steps in the Trace Event Format, for Perfetto; '-' is standard output."),
            valueName: "file"
        ),
        completion: .file(),
        transform: CommandLineArgument.requiredText
    )
    var trace: String?

    @Flag(help: .init(translated("Open links in the browser, even if an app has a proof for them.")))
    var browser = false

    @Flag(help: .init(translated("Do not bring the handler to the foreground.")))
    var background = false

    @Flag(help: .init(translated("Store the URLs and return; the router delivers them later.")))
    var queue = false

    @Option(
        help: .init(
            translated(
                "Store the URLs and deliver them at a time, such as 9:30, 'tomorrow 9:30', +2h or 2026-12-01T09:30."
            ),
            valueName: "time"
        ),
        transform: FutureTime.init
    )
    var at: FutureTime?

    @Option(
        help: .init(
            translated("Deliver the URLs again every minute, hour, day, week, month or year."),
            valueName: "interval"
        ),
        completion: .list(RepeatInterval.allCases.map(\.rawValue)),
        transform: RepeatInterval.init(argument:)
    )
    var every: RepeatInterval?

    @Option(
        help: .init(translated("Notify the user instead; a click opens the URL."), valueName: "text"),
        transform: CommandLineArgument.requiredText
    )
    var notify: String?

    @Option(
        help: .init(
            translated("Store the URLs until the router of another host, or of one of a group, has opened them."),
            valueName: "host"
        ),
        completion: .hosts,
        transform: HostName.init(argument:)
    )
    var to: HostName?

    @Option(
        help: .init(
            translated(
                "Store the URLs, and give up those that are not delivered within a time, such as 10m, 2h or 3d."
            ),
            valueName: "time"
        ),
        transform: Lifetime.init
    )
    var lifetime: Lifetime?

    @OptionGroup var outputOptions: OutputOptions

    @Flag(name: .shortAndLong, help: .init(translated("Print nothing on standard error.")))
    var quiet = false

    @Flag(name: .shortAndLong, help: .init(translated("Print the handler and each step with its time.")))
    var verbose = false

    @Argument(help: .init(translated("A URL or a file to open."), valueName: "url"), completion: .urls)
    var urls: [CommandLineArgument] = []

    func validate() throws {
        if browser, handler != nil {
            throw ValidationError(translated("--browser and --handler cannot be used together"))
        }
        if every != nil {
            guard let at else { throw ValidationError(translated("--every needs a first time; add --at")) }
            guard at.isRepeatable else {
                throw ValidationError(translated("--every needs a time without a time zone in --at"))
            }
        }
        if let notify, notify.utf8.count > OpenOptions.maximumNotificationBytes {
            throw ValidationError(
                translated("a notification can have at most \(OpenOptions.maximumNotificationBytes) bytes")
            )
        }
        if to != nil, every != nil || notify != nil || !fallback.isEmpty {
            throw ValidationError(translated("--to cannot be combined with --every, --notify or --fallback"))
        }
        if lifetime != nil, every != nil {
            throw ValidationError(translated("--lifetime cannot be combined with --every"))
        }
        if queue || at != nil || notify != nil || to != nil || lifetime != nil, !attach.isEmpty || !save.isEmpty {
            throw ValidationError(translated("a queued URL has no open files and no reply; remove --attach and --save"))
        }
        if attach.count > Value.maximumDescriptors {
            throw ValidationError(translated("--attach can pass at most \(Value.maximumDescriptors) files"))
        }
        for keys in [attach.map(\.key) + Set(annotation.map(\.key)), save.map(\.key)] where Set(keys).count < keys.count
        {
            throw ValidationError(translated("two values have the same key; give each its own key"))
        }
        if save.count > 0, urls.count > 1 {
            throw ValidationError(translated("--save works with one URL only, because each URL has its own reply"))
        }
        if save.contains(where: { $0.path == nil }), outputOptions.json || verbose {
            throw ValidationError(translated("standard output is for the saved value; remove --json and --verbose"))
        }
        if trace == "-", outputOptions.json || verbose || save.contains(where: { $0.path == nil }) {
            throw ValidationError(translated("standard output is for the trace; remove --json, --verbose and --save"))
        }
        // A menu runs a desktop entry's command without a URL.
        guard urls.isEmpty, desktopEntry == nil else { return }
        throw ValidationError(translated("Missing expected argument '<url> ...'"))
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        // An empty argument is no file, but a malformed URL.
        if let to, let file = urls.first(where: { !$0.hasScheme && !$0.bytes.isEmpty }) {
            let reason = translated(
                "'\(file.shown)' is a file on this machine; give a URL that \(to.rawValue) can open"
            )
            throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
        }
        var options = OpenOptions()
        options.handler = handler
        options.desktopEntry = desktopEntry
        options.inBrowser = browser
        options.timeout = timeout?.duration
        options.inBackground = background
        options.isQueued = queue
        if let at {
            let time = at.deliveryTime(at: WallClock.microseconds / 1000, isRepeated: every != nil)
            guard let time else {
                let message = translated("the time in --at is after the year 9999")
                throw CommandFailure(.invalidArguments, message, exitStatus: ExitStatus.usage)
            }
            options.deliveryTime = time
            options.repeatInterval = every
        }
        options.notification = notify
        options.host = to
        options.lifetime = lifetime?.duration
        if !annotation.isEmpty {
            let entries = annotation.map { (Value.string($0.key), Value.string($0.value)) }
            options.annotation = .dictionary(Dictionary(entries) { $1 }, key: "s", value: "s")
        }
        var operation = OpenOperation(
            urls: urls,
            fallback: fallback,
            options: options,
            report: outputOptions.json ? .json : verbose ? .trace : .nothing,
            isQuiet: quiet
        )
        if !query.isEmpty {
            operation.complete = { [query] url throws(CommandFailure) in .text(try url.appending(query)) }
        }
        operation.attached = attach
        operation.saved = save
        operation.trace = trace
        return operation.perform(invocation)
    }
}
