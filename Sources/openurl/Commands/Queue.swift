internal import ArgumentParser
internal import DBus
internal import OpenURLBus

struct Queue: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Show and change what 'openurl open --queue' has left to be delivered.",
        subcommands: [QueueList.self, QueueRetry.self, QueueDrop.self],
        defaultSubcommand: QueueList.self
    )
}

struct QueueList: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the URLs in the queue.",
        discussion: "A URL that is 'dead' is not tried again unless somebody asks for it."
    )

    @OptionGroup var outputOptions: OutputOptions

    func perform(_ output: StandardOutput) throws(Failure) -> Int32 {
        let urls = try Router().queuedURLs()
        if outputOptions.json {
            for url in urls { output.print(JSON(url).text) }
        } else {
            Table(header: ["ID", "HANDLER", "STATE", "ATTEMPTS", "NEXT", "URL", "ERROR"], rows: urls.map(\.row)).print(
                to: output
            )
        }
        return 0
    }
}

struct QueueRetry: Command {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try URLs again now, with all of their attempts."
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var urls: QueuedURLArguments

    func perform(_ output: StandardOutput) throws(Failure) -> Int32 {
        try urls.call(QueueInterface.retry, outputOptions, output)
    }
}

struct QueueDrop: Command {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Forget URLs.",
        discussion: "What is being delivered right now may arrive all the same."
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var urls: QueuedURLArguments

    func perform(_ output: StandardOutput) throws(Failure) -> Int32 {
        try urls.call(QueueInterface.drop, outputOptions, output)
    }
}

/// The URLs of the queue that a command is for.
struct QueuedURLArguments: ParsableArguments {
    @Flag(help: "Every URL in the queue.")
    var all = false

    @Argument(
        help: .init("A URL's number, as 'openurl queue' shows it.", valueName: "id"),
        transform: CommandLineArgument.requiredText
    )
    var ids: [String] = []

    func validate() throws {
        if all == ids.isEmpty { return }
        throw ValidationError(all ? "--all goes without numbers" : "say which: a number, or --all")
    }

    /// Calls a method for each of them, in order; one that fails does not stop the rest.
    ///
    /// - Returns: the exit status.
    func call(
        _ method: Method<String, Empty>,
        _ options: OutputOptions,
        _ output: StandardOutput
    ) throws(Failure) -> Int32 {
        let router = Router()
        let ids = all ? try router.queuedURLs().map(\.id) : ids
        let batch = Batch(key: "id", printsJSON: options.json, output: output)
        return batch.perform(ids, name: \.self) { (id) throws(Failure) in
            do throws(Failure) {
                _ = try router.call(method, id)
            } catch {
                // Of all, some may have been delivered meanwhile.
                guard all, error.name == .invalidArguments else { throw error }
                return
            }
            if options.json { output.print(JSON.object([("id", .string(id))]).text) }
        }
    }
}

extension Router {
    /// Every URL in the queue.
    fileprivate func queuedURLs() throws(Failure) -> [QueuedURL] {
        var urls: [QueuedURL] = []
        while true {
            let page = try call(QueueInterface.list, urls.last?.id ?? "")
            if page.isEmpty { return urls }
            urls += page
        }
    }
}

extension QueuedURL {
    fileprivate var row: [String] {
        [
            id, handler, state.rawValue, "\(attempts)", next.map(LocalTime.text) ?? Table.absent, url,
            error?.message ?? Table.absent,
        ]
    }
}
