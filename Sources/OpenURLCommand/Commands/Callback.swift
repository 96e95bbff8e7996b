internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import Translations
internal import URLOpener

struct Callback: Command {
    static let configuration = CommandConfiguration(
        commandName: "callback",
        abstract: translated("Open a URL and wait for the URL that comes back."),
        discussion: translated(
            """
            Use this to sign in with a browser. Prints the callback, which the URL names as redirect_uri=. If the URL has \
            state=, the callback must bring it back. For a callback to \
            http://127.0.0.1, http://[::1] or http://localhost, this command runs a server, on a free port unless \
            the address has one. You need not register any other scheme: the desktop passes its URLs on while the command \
            waits.
            The exit status is 0 if the callback arrived, 1 if it carries error=, 3 if nothing opens the URL, 6 after the time \
            limit, 7 if the program may not wait for these URLs, 11 after Ctrl-C, and 12 if another program is waiting for them.
            """
        ),
        examples: [
            "openurl callback 'https://a.example/login?redirect_uri=myapp://auth'",
            "openurl callback --loopback https://a.example/login",
        ]
    )

    @Option(
        name: .customLong("for"),
        help: .init(
            translated(
                "Wait for URLs with a scheme, a host or a path, such as myapp://auth, instead of the URL's redirect_uri=."
            ),
            valueName: "pattern"
        ),
        transform: CommandLineArgument.requiredText
    )
    var pattern: String?

    @Option(
        help: .init(translated("Expect this value of state= instead of the URL's."), valueName: "value"),
        transform: CommandLineArgument.anyText
    )
    var state: String?

    @Flag(
        help: .init(
            translated(
                "Receive the callback with a server on 127.0.0.1 and ::1, and put its address into redirect_uri=."
            )
        )
    )
    var loopback = false

    @Flag(
        help: .init(
            translated("Also accept the callback as a line of standard input, for a browser on another machine.")
        )
    )
    var paste = false

    @Flag(help: .init(translated("Print the URL instead of opening it.")))
    var noOpen = false

    @Option(
        help: .init(
            translated("Wait at most this long, such as 90s or 5m (default: five minutes)."),
            valueName: "time"
        ),
        transform: TimeLimit.init
    )
    var timeout: TimeLimit?

    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init(translated("The URL that leads to the callback."), valueName: "url"), completion: .urls)
    var url: CommandLineArgument

    func validate() throws {
        if let timeout, timeout.duration > CallbackOptions.maximumTimeout {
            throw ValidationError(translated("--timeout can be at most one day"))
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.checkMeaningThere(url)
        var refusal: String?
        let batch = Batch(key: "url", printsJSON: outputOptions.json, invocation: invocation)
        let status = batch.perform([url], name: \.shown) { _ throws(CommandFailure) in
            let callback: ReceivedCallback
            do throws(CommandFailure) {
                callback = try CallbackOperation(
                    CallbackPlan(try parsedURL(), try wishes(invocation)),
                    opens: !noOpen && !isRemote(invocation),
                    timeout: timeout?.duration ?? CallbackOptions.usualTimeout,
                    invocation
                ).perform()
            } catch {
                guard !outputOptions.json else { throw error }
                throw RouterClient(on: invocation).suggestingScheme(for: url.shown, error)
            }
            invocation.output.print(outputOptions.json ? callback.json.text : callback.url.description)
            refusal = callback.refusal
        }
        guard let refusal else { return status }
        invocation.errors.print(translated("the callback reports an error: \(refusal)"))
        return ExitStatus.failure
    }

    private func parsedURL() throws(CommandFailure) -> GenericURL {
        let text = try url.urlText()
        do throws(GenericURL.ParseError) {
            return try GenericURL(text)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func wishes(_ invocation: Invocation) throws(CommandFailure) -> CallbackPlan.Wishes {
        var wishes = CallbackPlan.Wishes()
        do throws(OpenURLError) {
            wishes.pattern = try pattern.map { text throws(OpenURLError) in try CallbackPattern(text) }
        } catch {
            throw CommandFailure(error)
        }
        wishes.state = state
        wishes.isLoopback = loopback
        wishes.isPaste = paste
        wishes.isRemote = isRemote(invocation)
        return wishes
    }

    /// Whether the user's browser is on another machine.
    private func isRemote(_ invocation: Invocation) -> Bool {
        invocation.environment("SSH_CONNECTION") != nil && invocation.environment("DISPLAY") == nil
            && invocation.environment("WAYLAND_DISPLAY") == nil
    }
}
