internal import ArgumentParser
internal import OpenURLBus
internal import RFC1808
internal import URLOpener

struct Call: Command {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Open a URL, and print the answer of its handler (x-callback-url).",
        discussion: """
            Prints the answer as JSON: the parameters of x-success, or the handler's reply to the URL itself. The handler gets \
            x-success, x-error and x-cancel of the router's own; parameters of the URL that begin with x- are left out.
            The exit status is 0 with the answer, 1 after x-error, whose message is printed on standard error, 6 after the time \
            limit, 11 after x-cancel and after Ctrl-C, and that of openurl open if the URL is not opened.
            """
    )

    @Option(
        help: .init("Add a parameter to the URL; repeat for more.", valueName: "key=value"),
        transform: { try KeyValue($0, form: "a parameter is key=value") }
    )
    var param: [KeyValue] = []

    @Option(
        help: .init("Wait for this time, such as 30s or 5m; two minutes without the option.", valueName: "time"),
        transform: TimeLimit.init
    )
    var timeout: TimeLimit?

    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init("The URL to open.", valueName: "url"), completion: .urls)
    var url: CommandLineArgument

    func validate() throws {
        if let pair = param.first(where: { $0.key.prefix(2).lowercased() == "x-" }) {
            throw ValidationError("the router sets the parameters of x-callback-url; remove \(pair.key)")
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
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
