internal import DBus
internal import OpenURLBus
internal import RFC1808

/// URLs to open, and how to tell what became of them: the one implementation of opening, whichever way the command line
/// was read.
struct OpenOperation {
    /// What is printed about a URL that was opened.
    enum Report {
        case nothing, trace, json
    }

    var urls: [CommandLineArgument]
    var fallback: [CommandLineArgument] = []
    var options = OpenOptions()
    var report = Report.nothing
    /// Whether nothing is said on standard error.
    var isQuiet = false

    /// Opens the URLs one after the other and tries each, whatever became of the ones before.
    ///
    /// - Returns: the exit status: that of the first failure, if there was one.
    func perform(_ invocation: Invocation) -> Int32 {
        let router = RouterClient(on: invocation.bus)
        let batch = Batch(key: "url", printsJSON: report == .json, isQuiet: isQuiet, invocation: invocation)
        return batch.perform(urls, name: \.shown) { (url) throws(CommandFailure) in
            let text = try url.urlText()
            switch report {
            case .nothing: _ = try open(text, OpenCall.unread, with: router, invocation)
            case .trace:
                let result = try open(text, OpenCall.method, with: router, invocation)
                for line in result.traceLines(of: text) { invocation.output.print(line) }
            case .json:
                let result = try open(text, OpenCall.method, with: router, invocation)
                invocation.output.print(result.json(of: text).text)
            }
        }
    }

    private func open<Output: MessageBody>(
        _ url: String,
        _ method: Method<OpenCall, Output>,
        with router: RouterClient,
        _ invocation: Invocation
    ) throws(CommandFailure) -> Output {
        var options = options
        for url in fallback { options.fallback.append(try url.urlText()) }
        options.activationToken = invocation.environment("XDG_ACTIVATION_TOKEN")
        options.desktopStartupID = invocation.environment("DESKTOP_STARTUP_ID")
        let isWatched = !isQuiet && report != .json && invocation.errors.isTerminal
        let notice = { LaunchNotice(url: url, handler: options.handler).print(to: invocation.errors, asking: router) }
        return try router.call(
            method,
            OpenCall(url: url, options: options),
            timeout: nil,
            notice: isWatched ? notice : nil
        )
    }
}

extension OpenOperation {
    /// A command line that names URLs and nothing else; nil for any other.
    ///
    /// What starts with `-` is an option unless `--` comes before. Without `open` and `--` the first argument could be a
    /// command's name, so it has to hold the `:` that no command's name has.
    init?(plain arguments: [CommandLineArgument]) {
        var urls = arguments[...]
        let isNamed = urls.first == .text("open")
        if isNamed { urls.removeFirst() }
        let isMarked = urls.first == .text("--")
        if isMarked { urls.removeFirst() }
        guard let first = urls.first, isNamed || isMarked || first.hasColon else { return nil }
        guard isMarked || !urls.contains(where: \.isOption) else { return nil }
        self.init(urls: Array(urls))
    }
}

extension CommandLineArgument {
    /// The text of a URL.
    ///
    /// Only what cannot go over the bus is refused here; all the rest is the router's to judge.
    func urlText() throws(CommandFailure) -> String {
        switch self {
        case .text(let text): return text
        case .notUTF8(let bytes):
            do throws(GenericURL.ParseError) {
                return try GenericURL(utf8: bytes.span, maximumLength: .max).description
            } catch {
                throw CommandFailure(error)
            }
        }
    }
}
