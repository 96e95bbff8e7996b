internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Queue: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: translated("Show and change the queue of 'openurl open --queue' and '--at'."),
        examples: [
            "openurl queue",
            "openurl queue retry --all",
        ],
        subcommands: [QueueList.self, QueueWait.self, QueueRetry.self, QueueDrop.self],
        defaultSubcommand: QueueList.self
    )
}

struct QueueList: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: translated("List the URLs in the queue."),
        discussion: translated(
            """
            NEXT is the time of the next attempt, or the time for which a URL is stored; EVERY says how often.
            The router does not try a 'dead' URL again; 'openurl queue retry' does.
            '…' replaces possible secrets: queries, fragments, parameters, users and passwords.
            """
        ),
        examples: [
            "openurl queue list",
            "openurl queue list --show-queries --wide",
        ]
    )

    @Flag(help: .init(translated("Show each URL in full, including possible secrets.")))
    var showQueries = false

    @OptionGroup var tableOptions: TableOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let urls = try RouterClient(on: invocation).queuedURLs().map { showQueries ? $0 : $0.redacted }
        if tableOptions.json {
            for url in urls { invocation.output.print(JSON(url).text) }
            return 0
        }
        // On a terminal, errors are printed below the table, where there is room for them.
        let isBrief = invocation.output.isTerminal && !tableOptions.wide
        let columns: [Column] = [
            Column(translated("ID")), Column(translated("HANDLER"), .cut(least: 16)), Column(translated("STATE")),
            Column(translated("TRIES")), Column(translated("NEXT")), Column(translated("EVERY")),
            Column(translated("URL"), .cut(least: 16)),
            Column(translated("ERROR")),
        ]
        Table(
            columns: isBrief ? columns.dropLast() : columns,
            rows: urls.map { isBrief ? $0.row.dropLast() : $0.row },
            empty: translated("The queue is empty. 'openurl --queue URL' stores a URL in it.")
        ).print(invocation, isWide: tableOptions.wide)
        if isBrief { invocation.print(notes: urls.compactMap(\.note)) }
        return 0
    }
}

struct QueueWait: Command {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: translated("Wait until URLs have left the queue, and report their outcomes."),
        discussion: translated("Prints the handler's reply. The router keeps an outcome for a day."),
        examples: [
            "openurl queue wait 1795259131178",
            "openurl queue wait --timeout 1m 1795259131178",
        ]
    )

    @Option(
        help: .init(translated("Stop waiting after this time, such as 5s or 2m."), valueName: "time"),
        transform: TimeLimit.init
    )
    var timeout: TimeLimit?

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The number of a URL, as 'openurl --queue --verbose' prints it."), valueName: "id"),
        completion: .queuedURLs,
        transform: CommandLineArgument.requiredText
    )
    var ids: [String]

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let batch = Batch(key: "id", printsJSON: outputOptions.json, invocation: invocation)
        return batch.perform(ids, name: \.self) { (id) throws(CommandFailure) in
            try checkNumber(id)
            let result: OpenResult
            do throws(CommandFailure) {
                result = try wait(for: id, router)
            } catch {
                throw error.ofMissingItem
            }
            if outputOptions.json {
                invocation.output.print(result.json.text)
            } else {
                invocation.output.print(JSON(Value.options(result.reply)).text)
            }
        }
    }

    private func wait(for id: String, _ router: RouterClient) throws(CommandFailure) -> OpenResult {
        guard let timeout else {
            return try router.call(
                QueueInterface.wait,
                id,
                timeout: RouterClient.longestCall,
                refusal: ExitStatus.failure
            )
        }
        do throws(CommandFailure) {
            return try router.call(
                QueueInterface.wait,
                id,
                timeout: timeout.duration,
                refusal: ExitStatus.failure
            )
        } catch {
            guard error.name == .noReply else { throw error }
            let message = translated("URL \(id) is still in the queue after the time limit")
            throw CommandFailure(OpenURLError(.timedOut, message))
        }
    }
}

struct QueueRetry: Command {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: translated("Try URLs again now, and count their attempts from zero."),
        examples: [
            "openurl queue retry 1795259131178",
            "openurl queue retry --all",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var urls: QueuedURLArguments

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try urls.call(QueueInterface.retry, outputOptions, invocation)
    }
}

struct QueueDrop: Command {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: translated("Remove URLs from the queue."),
        discussion: translated("If a handler already has a URL, it may still open it. A URL that is repeated ends."),
        examples: [
            "openurl queue drop 1795259131178",
            "openurl queue drop --all",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var urls: QueuedURLArguments

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try urls.call(QueueInterface.drop, outputOptions, invocation)
    }
}

/// URLs from the queue, given on a command line.
struct QueuedURLArguments: ParsableArguments {
    @Flag(help: .init(translated("Select every URL in the queue.")))
    var all = false

    @Argument(
        help: .init(translated("The number of a URL, as 'openurl queue' shows it."), valueName: "id"),
        completion: .queuedURLs,
        transform: CommandLineArgument.requiredText
    )
    var ids: [String] = []

    func validate() throws {
        if all == ids.isEmpty { return }
        throw ValidationError(
            all ? translated("use --all without numbers") : translated("give the numbers of the URLs, or use --all")
        )
    }

    /// Calls a method for each URL in order. If one call fails, the method is still called for the other URLs.
    ///
    /// - Returns: the exit status.
    func call(
        _ method: Method<String, Empty>,
        _ options: OutputOptions,
        _ invocation: Invocation
    ) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let ids = all ? try router.queuedURLs().map(\.id) : ids
        let batch = Batch(key: "id", printsJSON: options.json, invocation: invocation)
        return batch.perform(ids, name: \.self) { (id) throws(CommandFailure) in
            try checkNumber(id)
            do throws(CommandFailure) {
                _ = try router.call(method, id, refusal: ExitStatus.failure)
            } catch {
                // With --all, a URL may have been delivered since the queue was listed.
                guard all, error.name == .invalidArguments else { throw error.ofMissingItem }
                return
            }
            if options.json { invocation.output.print(JSON.object([("id", .string(id))]).text) }
        }
    }
}

/// Checks that a word on the command line can be the number of a URL in the queue.
private func checkNumber(_ id: String) throws(CommandFailure) {
    guard UInt64(id) == nil else { return }
    let message = translated("'\(id.printable)' is not the number of a URL; 'openurl queue' lists the queue")
    throw CommandFailure(.invalidArguments, message, exitStatus: ExitStatus.usage)
}

extension RouterClient {
    private static let listingLimit = Duration.seconds(30)

    /// Returns every URL in the queue.
    ///
    /// A router's numbers increase. Because a program that poses as a router could send pages without end, both the
    /// number of pages and the time for them are limited.
    fileprivate func queuedURLs() throws(CommandFailure) -> [QueuedURL] {
        var urls: [QueuedURL] = []
        var last: Int64?
        let end = ContinuousClock.now + Self.listingLimit
        while true {
            let left = ContinuousClock.now.duration(to: end)
            let page = try call(
                QueueInterface.list,
                urls.last?.id ?? "",
                timeout: min(left, .seconds(25)),
                refusal: ExitStatus.failure
            )
            if page.isEmpty { return urls }
            for url in page {
                guard let number = Int64(url.id), number > last ?? .min, urls.count < QueueInterface.capacity else {
                    let problem = CallError.unexpectedReply(.invalidValue("an endless queue"))
                    throw CommandFailure(problem, refusal: ExitStatus.unavailable)
                }
                last = number
                urls.append(url)
            }
        }
    }
}

extension QueuedURL {
    /// The entry without possible secrets.
    fileprivate var redacted: QueuedURL {
        let redacted = RedactedURL(url)
        var entry = self
        entry.url = redacted.text
        entry.notification = notification.map { _ in "…" }
        entry.error = error.map { RemoteError($0.name, redacted.redacting($0.message)) }
        return entry
    }

    var row: [Cell] {
        [
            Cell(id), Cell(handler), Cell(state.rawValue, as: state.meaning), Cell("\(attempts)"),
            next.map { Cell(time: $0, isExact: deliveryTime != nil) } ?? .absent,
            repeatInterval.map { Cell($0.rawValue) } ?? .absent, Cell(url), reason.map { Cell($0) } ?? .absent,
        ]
    }

    /// The reason why the last attempt failed, in one line.
    private var reason: String? {
        error.map { CommandFailure($0.name, $0.message, exitStatus: 0).lines[0] }
    }

    fileprivate var note: String? { reason.map { "\(id): \($0)" } }
}

extension QueuedURL.State {
    fileprivate var meaning: TerminalStyle.Meaning? {
        switch self {
        case .waiting: .pending
        case .delivering, .delivered: .good
        case .dead: .bad
        }
    }
}
