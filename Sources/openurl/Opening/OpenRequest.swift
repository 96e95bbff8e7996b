internal import DBus
internal import Glibc
internal import OpenURLBus
internal import RFC1808

/// URLs to open, and how to tell what became of them: the one implementation of opening, whichever way the command line
/// was read.
struct OpenRequest {
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
    func perform(_ output: StandardOutput) -> Int32 {
        let router = Router()
        let batch = Batch(key: "url", printsJSON: report == .json, isQuiet: isQuiet, output: output)
        return batch.perform(urls, name: \.shown) { (url) throws(Failure) in
            let text = try url.urlText()
            let result = try open(text, with: router)
            print(result, of: text, to: output)
        }
    }

    private func environmentVariable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(validatingCString: value)
    }

    private func open(_ url: String, with router: Router) throws(Failure) -> OpenResult {
        var options = options
        for url in fallback { options.fallback.append(try url.urlText()) }
        options.activationToken = environmentVariable("XDG_ACTIVATION_TOKEN")
        options.desktopStartupID = environmentVariable("DESKTOP_STARTUP_ID")
        let isWatched = !isQuiet && report != .json && StandardError.isTerminal
        let notice = { LaunchNotice(url: url, handler: options.handler).print(asking: router) }
        return try router.call(
            OpenCall.method,
            OpenCall(url: url, options: options),
            timeout: nil,
            notice: isWatched ? notice : nil
        )
    }

    private func print(_ result: OpenResult, of url: String, to output: StandardOutput) {
        switch report {
        case .nothing: break
        case .trace:
            for line in result.traceLines(of: url) { output.print(line) }
        case .json: output.print(result.json(of: url).text)
        }
    }
}

/// What ``RouterInterface/openURL`` takes, as a type that is not generic: making the metadata of the generic one at run
/// time searches every conformance of the program twice, a tenth of what opening a URL costs.
private struct OpenCall: MessageBody {
    static let method = Method<OpenCall, OpenResult>(RouterInterface.name, "OpenURL")

    static var signature: Signature { Arguments<String, OpenOptions>.signature }

    let url: String
    let options: OpenOptions

    init(url: String, options: OpenOptions) {
        self.url = url
        self.options = options
    }

    init(from reader: inout MessageReader) throws(DecodingError) {
        url = try String(from: &reader)
        options = try OpenOptions(from: &reader)
    }

    func write(to writer: inout MessageWriter) throws(EncodingError) {
        try url.write(to: &writer)
        try options.write(to: &writer)
    }
}

extension OpenRequest {
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
    func urlText() throws(Failure) -> String {
        switch self {
        case .text(let text): return text
        case .notUTF8(let bytes):
            do throws(GenericURL.ParseError) {
                return try GenericURL(utf8: bytes.span, maximumLength: .max).description
            } catch {
                throw Failure(error)
            }
        }
    }
}
