internal import DBus
internal import Glibc
package import OpenURLBus
internal import RFC1808
internal import Translations

/// Opens URLs and files.
///
/// It does the same whether or not ArgumentParser read the command line.
package struct OpenOperation {
    /// The output for a URL that was opened.
    package enum Report {
        case nothing, trace, reply, json
    }

    package var urls: [CommandLineArgument]
    /// Adds to a URL what other options say.
    package var complete: (CommandLineArgument) throws(CommandFailure) -> CommandLineArgument = { $0 }
    package var fallback: [CommandLineArgument] = []
    package var options = OpenOptions()
    /// Whether each URL waits for its handler's answer.
    package var isCall = false
    /// The files that the handler gets in the annotation.
    package var attached: [KeyedFile] = []
    /// The files for the reply's values. If there are any, the operation has only one URL.
    package var saved: [KeyedFile] = []
    /// The path of the file for the trace; `-` for standard output.
    package var trace: String?
    package var report = Report.nothing
    /// Whether standard error stays empty.
    package var isQuiet = false

    package init(
        urls: [CommandLineArgument],
        fallback: [CommandLineArgument] = [],
        options: OpenOptions = OpenOptions(),
        isCall: Bool = false,
        report: Report = .nothing,
        isQuiet: Bool = false
    ) {
        self.urls = urls
        self.fallback = fallback
        self.options = options
        self.isCall = isCall
        self.report = report
        self.isQuiet = isQuiet
    }

    private static let startupVariable = "DESKTOP_STARTUP_ID"

    /// Opens the URLs in order. If one fails, the others are still opened.
    ///
    /// If the desktop started this program with an X11 startup notification, the notification ends with the last URL.
    /// An application that takes a URL ends the notification itself when its window appears.
    ///
    /// - Returns: the exit status of the first failure, or 0 if there is none.
    package func perform(_ invocation: Invocation) -> Int32 {
        let router = RouterClient(on: invocation, mayUseLane: true)
        let startup = StartupNotification(
            invocation.environment(Self.startupVariable),
            on: invocation.environment("DISPLAY")
        )
        if urls.isEmpty, let entry = options.desktopEntry {
            defer { startup?.end() }
            return activate(entry, with: router, invocation)
        }
        var operation = self
        let outputs: [SavedValue]
        let openTrace: OpenTrace?
        do throws(CommandFailure) {
            for url in urls + fallback { try invocation.checkMeaningThere(url) }
            try checkWords()
            if let host = invocation.host, !attached.isEmpty || !saved.isEmpty {
                let reason = translated("files cannot be passed to \(host.name); remove --attach and --save")
                throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
            }
            operation.options.annotation = try options.annotation.attaching(
                attached,
                standardInput: invocation.input,
                until: options.timeout.map { .now + $0 }
            )
            // A value that cannot be saved is of no use, so do not open the URL.
            outputs = try saved.map { file throws(CommandFailure) in try SavedValue(file) }
            openTrace = try trace.map { path throws(CommandFailure) in try OpenTrace(path == "-" ? nil : path) }
        } catch {
            if !isQuiet { invocation.errors.print(error) }
            return error.exitStatus
        }
        return operation.openAll(router, startup, outputs, openTrace, invocation)
    }

    /// Opens the URLs in order until one fails, and prints nothing.
    func performOnly(_ invocation: Invocation) throws(CommandFailure) {
        let router = RouterClient(on: invocation, mayUseLane: true)
        let startup = StartupNotification(
            invocation.environment(Self.startupVariable),
            on: invocation.environment("DISPLAY")
        )
        let interrupt = invocation.makeInterrupt()
        defer { interrupt?.end() }
        var isWithApplication = false
        defer { if !isWithApplication { startup?.end() } }
        for url in urls {
            let method = RouterInterface.openURL
            let result = try open(url.urlText(), method, with: router, interrupt, invocation)
            isWithApplication = result.isWithApplication
        }
    }

    private func openAll(
        _ router: RouterClient,
        _ startup: StartupNotification?,
        _ outputs: [SavedValue],
        _ openTrace: OpenTrace?,
        _ invocation: Invocation
    ) -> Int32 {
        let batch = Batch(key: "url", printsJSON: report == .json, isQuiet: isQuiet, invocation: invocation)
        var isWithApplication = false
        // A stored URL is in the queue, and 'queue drop' removes it.
        let interrupt = options.isQueued ? nil : invocation.makeInterrupt()
        var replied: OpenResult?
        var status = batch.perform(urls, name: \.nameInFailures) { (url) throws(CommandFailure) in
            if interrupt?.isRequested == true { throw .interrupted }
            let text = try complete(url).urlText(passedBy: options.desktopEntry)
            let isUnread = report == .nothing && startup == nil && saved.isEmpty && openTrace == nil
            let method = isCall ? RouterInterface.call : RouterInterface.openURL
            let opened: OpenResult?
            do throws(CommandFailure) {
                if isUnread {
                    let result = try open(text, ResultNote.method, with: router, interrupt, invocation)
                    noteEarlierProgram(of: result.earlierProgram, invocation)
                }
                opened =
                    isUnread
                    ? nil
                    : try tracing(text, in: openTrace, router) { (operation) throws(CommandFailure) in
                        try operation.open(text, method, with: router, interrupt, invocation)
                    }
            } catch {
                guard !isQuiet, report != .json else { throw error }
                let failure = router.suggestingName(for: text, options.handler, error)
                throw router.suggestingURL(for: url, url.suggestingPath(failure))
            }
            guard let result = opened else { return }
            if result.isWithApplication { isWithApplication = true }
            replied = result
            noteEarlierProgram(of: result.runsEarlierProgram ? result.handler : nil, invocation)
            switch report {
            case .nothing: break
            case .trace: for line in result.traceLines(of: text) { invocation.output.print(line) }
            case .reply: invocation.output.print(result.replyJSON.text)
            case .json: invocation.output.print(result.json(of: text).text)
            }
        }
        interrupt?.end()
        // From here on, Ctrl-C ends the program again, because saving takes as long as the handler keeps writing.
        if let replied, !outputs.isEmpty { status = save(replied, outputs, invocation) }
        if let openTrace { status = write(openTrace, after: status, invocation) }
        if !isWithApplication { startup?.end() }
        return status
    }

    /// Warns a person that a handler's process runs an earlier program.
    private func noteEarlierProgram(of handler: String?, _ invocation: Invocation) {
        guard let handler, !isQuiet, report != .json else { return }
        invocation.errors.print(earlierProgramNote(of: handler))
    }

    /// Checks that no argument is a part of the previous URL that the shell has split off. In that case, the handler
    /// would get only the beginning, so no URL is opened.
    private func checkWords() throws(CommandFailure) {
        let isPart = { (word: CommandLineArgument) in !word.bytes.isEmpty && !word.hasScheme && !word.namesFile }
        for (index, word) in urls.enumerated().dropFirst() where urls[index - 1].hasScheme && isPart(word) {
            let words = urls[(index - 1)...].prefix(1) + urls[index...].prefix(while: isPart)
            let whole = words.flatMap { $0.shown.split(separator: " ") }.joined(separator: "%20")
            throw CommandFailure(
                .fileNotFound,
                translated(
                    """
                    '\(word.shown)' is neither a URL with a scheme nor a file, so nothing was opened; if it belongs to the previous \
                    URL, write '\(whole)'
                    """
                ),
                exitStatus: ExitStatus.noInput
            )
        }
    }

    private func save(_ result: OpenResult, _ outputs: [SavedValue], _ invocation: Invocation) -> Int32 {
        do throws(CommandFailure) {
            let deadline = options.timeout.map { .now + $0 } as ContinuousClock.Instant?
            for output in outputs { try result.save(output, invocation.output, until: deadline) }
            return 0
        } catch {
            if !isQuiet { invocation.errors.print(error) }
            return error.exitStatus
        }
    }

    /// Opens a URL, and adds the steps to a trace. If opening fails, the steps come from the router's log.
    private func tracing(
        _ url: String,
        in trace: OpenTrace?,
        _ router: RouterClient,
        _ open: (OpenOperation) throws(CommandFailure) -> OpenResult
    ) throws(CommandFailure) -> OpenResult {
        guard let trace else { return try open(self) }
        var operation = self
        operation.options.requestID = OpenTrace.requestID
        let texts = fallback.compactMap(\.text)
        operation.options.includesRouterSteps = true
        let start = TracePhase.now
        do throws(CommandFailure) {
            let result = try open(operation)
            let outcome = result.way.rawValue
            trace.add(url, fallback: texts, from: start, handler: result.handler, result.trace, outcome: outcome)
            return result
        } catch {
            var filter = MonitorFilter()
            filter.requestID = operation.options.requestID?.rawValue
            let total = TracePhase.now
            let entry = router.loggedRequest(filter)
            let (handler, steps) = (entry?.handler, entry?.trace ?? [])
            trace.add(url, fallback: texts, from: start, to: total, handler: handler, steps, outcome: error.message)
            throw error
        }
    }

    private func write(_ trace: OpenTrace, after status: Int32, _ invocation: Invocation) -> Int32 {
        do throws(CommandFailure) {
            try trace.write(invocation.output)
            return status
        } catch {
            if !isQuiet { invocation.errors.print(error) }
            return status == 0 ? error.exitStatus : status
        }
    }

    /// Brings a desktop entry's handler to the foreground, because a menu runs the entry's command without a URL.
    private func activate(_ entry: String, with router: RouterClient, _ invocation: Invocation) -> Int32 {
        let id = entry.hasSuffix(entrySuffix) ? String(entry.dropLast(entrySuffix.count)) : entry
        let batch = Batch(key: "id", printsJSON: report == .json, isQuiet: isQuiet, invocation: invocation)
        return batch.perform([id], name: \.self) { (id) throws(CommandFailure) in
            do throws(CommandFailure) {
                _ = try router.call(LifecycleInterface.activate, id, timeout: RouterClient.lifecycleCall)
            } catch {
                throw error.ofHandler(id)
            }
        }
    }

    /// How long the router may take to answer. The time limit is added once more for each fallback.
    private var timeLimit: Duration {
        guard let limit = options.timeout else { return RouterClient.longestCall }
        return limit * (fallback.count + 1) + RouterClient.grace
    }

    private func open<Output: MessageBody>(
        _ url: String,
        _ method: Method<SentURL, Output>,
        with router: RouterClient,
        _ interrupt: Interrupt?,
        _ invocation: Invocation
    ) throws(CommandFailure) -> Output {
        var options = options
        if !options.isQueued { options.handleToken = RouterClient.token }
        for url in fallback { options.fallback.append(try url.urlText(passedBy: options.desktopEntry)) }
        options.activationToken = invocation.environment("XDG_ACTIVATION_TOKEN")
        // As W3C Trace Context requires, ignore a value that breaks the rules.
        options.traceParent = invocation.environment("TRACEPARENT").flatMap(TraceParent.init(rawValue:))
        options.desktopStartupID = invocation.environment(Self.startupVariable)
        let isWatched = !isQuiet && report != .json && invocation.errors.isTerminal
        options.asksAtTerminal = isWatched && isatty(invocation.input) != 0 && !attached.contains { $0.path == nil }
        do throws(CommandFailure) {
            return try call(method, url, options, isWatched: isWatched, with: router, interrupt, invocation)
        } catch {
            let question = TerminalQuestion(
                url: url,
                options: options,
                router: router,
                interrupt: interrupt,
                invocation: invocation
            )
            guard options.asksAtTerminal, error.name == OpenURLError.Code.notAllowed.errorName,
                let permission = try question.ask()
            else { throw error }
            options.permission = permission
        }
        return try call(method, url, options, isWatched: isWatched, with: router, interrupt, invocation)
    }

    private func call<Output: MessageBody>(
        _ method: Method<SentURL, Output>,
        _ url: String,
        _ options: OpenOptions,
        isWatched: Bool,
        with router: RouterClient,
        _ interrupt: Interrupt?,
        _ invocation: Invocation
    ) throws(CommandFailure) -> Output {
        let bar = isWatched && invocation.environment("TERM") != "dumb" ? ProgressBar(on: invocation.errors) : nil
        defer { bar?.remove() }
        let notice = {
            // A handler that reports progress has started.
            if bar?.isShown == true { return }
            if isCall { return invocation.errors.print(translated("waiting for the answer …; Ctrl-C cancels")) }
            LaunchNotice(url: url, handler: options.handler).print(to: invocation.errors, asking: router)
        }
        let cancels = {
            bar?.remove()
            if isWatched {
                invocation.errors.print(translated("cancelling …; Ctrl-C again stops waiting for the outcome"))
            }
        }
        return try router.open(
            method,
            SentURL(url, options),
            timeout: timeLimit,
            notice: isWatched ? notice : nil,
            progress: bar.map { bar in { bar.show($0) } },
            interrupt: interrupt.map { ($0, cancels) }
        )
    }
}

extension OpenOperation {
    /// Creates the operation for a command line that consists only of URLs, or for a desktop entry's command line; nil
    /// for any other.
    ///
    /// These two skip the parser, which takes a few milliseconds. A desktop entry's command is `openurl open
    /// --desktop-entry ID -- URL`. An argument that starts with `-` is an option unless `--` comes before it. Without
    /// `open` and `--`, the first argument could be a command's name, so it must contain a `:` or a `/`, which no
    /// command's name does.
    package init?(plain arguments: [CommandLineArgument]) {
        var urls = arguments[...]
        let isNamed = urls.first == .text("open")
        if isNamed { urls.removeFirst() }
        var options = OpenOptions()
        if isNamed, urls.first == .text("--desktop-entry"), let entry = urls.dropFirst().first, !entry.isOption {
            options.desktopEntry = entry.text
            urls.removeFirst(2)
        }
        let isMarked = urls.first == .text("--")
        if isMarked { urls.removeFirst() }
        guard let first = urls.first, isNamed || isMarked || first.hasColon || first.isPath else { return nil }
        guard isMarked || !urls.contains(where: \.isOption) else { return nil }
        self.init(urls: Array(urls), options: options)
    }
}

extension OpenResult {
    /// Whether one of the desktop's applications now has the URL.
    fileprivate var isWithApplication: Bool { way != .queued && handler.hasSuffix(entrySuffix) }
}

/// The end of a desktop entry's name, and of an application's name in answers from the router.
private let entrySuffix = ".desktop"

extension CommandLineArgument {
    /// The argument as shown in a failure's message. The message may end up in a log, and the answer to a call contains
    /// a secret.
    fileprivate var nameInFailures: String {
        XCallbackURL.isReply(shown) ? "\(XCallbackURL.replyScheme):" : shown
    }

    /// Returns the text of a URL, or the URL of the file that the argument refers to.
    ///
    /// Only bytes that the bus cannot carry are an error here, because the router judges the rest.
    ///
    /// - Parameter entry: the desktop entry that passes the URL, if there is one. Because the desktop may have decoded
    ///   the URL, its bytes are escaped again.
    package func urlText(passedBy entry: String? = nil) throws(CommandFailure) -> String {
        // Without a colon, there is no scheme, so this must be the name of a file.
        if isPath || namesFile || !hasColon && !bytes.isEmpty { return try fileURL() }
        switch self {
        case .text(let text): return text
        case .notUTF8(let bytes) where entry != nil: return GenericURL.escapingForbiddenBytes(in: bytes)
        case .notUTF8(let bytes):
            do throws(GenericURL.ParseError) {
                return try GenericURL(utf8: bytes.span, maximumLength: .max).description
            } catch {
                throw CommandFailure(error)
            }
        }
    }
}
