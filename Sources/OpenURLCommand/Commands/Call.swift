internal import ArgumentParser
internal import OpenURLBus
internal import RFC1808
internal import Translations
internal import URLOpener

struct Call: Command {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: translated("Open a URL and print its handler's answer."),
        discussion: translated(
            """
            Prints the answer as JSON: the parameters of x-success (x-callback-url), or the handler's reply to the URL itself. The \
            router sets x-success, x-error and x-cancel, and drops any other parameter that begins with x-.
            The exit status is 0 if an answer arrived, 1 after x-error (its message goes to standard error), 6 after the time \
            limit, 11 after x-cancel or Ctrl-C, and that of openurl open if the URL was not opened.
            """
        ),
        examples: [
            "openurl call 'notes:search?text=milk'",
            "openurl call notes:new --param 'text=Buy milk' --timeout 30s",
        ]
    )

    @Option(
        help: .init(translated("Add a parameter to the URL; repeat for more."), valueName: "key=value"),
        transform: { try KeyValue($0, form: translated("write a parameter as key=value")) }
    )
    var param: [KeyValue] = []

    @Option(
        help: .init(translated("Wait at most this long, such as 30s or 5m (default: two minutes)."), valueName: "time"),
        transform: TimeLimit.init
    )
    var timeout: TimeLimit?

    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init(translated("The URL to open."), valueName: "url"), completion: .urls)
    var url: CommandLineArgument

    func validate() throws {
        if let pair = param.first(where: { $0.key.prefix(2).lowercased() == "x-" }) {
            throw ValidationError(translated("the router sets the parameters that begin with x-; remove \(pair.key)"))
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.checkMeaningThere(url)
        var options = OpenOptions()
        options.timeout = timeout?.duration ?? RouterInterface.callTimeout
        return OpenOperation(
            urls: [.text(try calledURL().description)],
            options: options,
            isCall: true,
            report: outputOptions.json ? .json : .reply
        ).perform(invocation)
    }

    private func calledURL() throws(CommandFailure) -> GenericURL {
        let parsed = try url.parsed()
        do throws(OpenURLError) {
            return try parsed.removingXParameters().appending(param.map { ($0.key, $0.value) })
        } catch {
            throw CommandFailure(error)
        }
    }
}
