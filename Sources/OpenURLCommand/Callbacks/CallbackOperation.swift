internal import DBus
internal import Loopback
internal import OpenURLBus
internal import RFC1808
internal import Translations
internal import URLOpener

/// A wait for a callback through the router, at this program's own server, or on the terminal, whichever comes first.
final class CallbackOperation {
    private let plan: CallbackPlan
    private let opens: Bool
    private let timeout: Duration
    private let invocation: Invocation
    private let router: RouterClient
    private var server: LoopbackServer?
    private var lines: PastedLines?
    private var interrupt: Interrupt?
    private var outcome: Result<ReceivedCallback, CommandFailure>?
    private var hasReportedRefusal = false

    init(_ plan: CallbackPlan, opens: Bool, timeout: Duration, _ invocation: Invocation) {
        self.plan = plan
        self.opens = opens
        self.timeout = timeout
        self.invocation = invocation
        router = RouterClient(on: invocation)
    }

    /// Waits, and returns the callback.
    func perform() throws(CommandFailure) -> ReceivedCallback {
        let url = try serve()
        if plan.takesLines { lines = PastedLines(invocation.input) }
        interrupt = invocation.makeInterrupt()
        defer { interrupt?.end() }
        let bus = try router.bus()
        var limit = timeout
        // Claim first: a user who opens the address before the claim could lose the callback.
        if let pattern = plan.pattern {
            try claim(pattern, url, bus)
            // The router enforces the claim's time limit, so give it time to answer.
            limit += RouterClient.grace
        }
        if plan.takesLines || !opens { announce(url) }
        if plan.pattern == nil, opens { try open(url, bus) }
        do throws(CallError) {
            _ = try bus.wait(
                forSignalsOf: RouterService.name,
                timeout: limit,
                watching: { watches },
                until: { outcome != nil }
            )
        } catch {
            throw CommandFailure(error, refusal: ExitStatus.unavailable)
        }
        guard let outcome else {
            throw CommandFailure(OpenURLError(.timedOut, translated("no callback arrived within the time limit")))
        }
        return try outcome.get()
    }

    // MARK: The ways in which the callback can arrive

    /// Starts a server if the callback needs one, and returns the URL to open.
    private func serve() throws(CommandFailure) -> GenericURL {
        guard let served = plan.served else { return plan.url }
        let server: LoopbackServer
        do throws(LoopbackError) {
            server = try LoopbackServer(served) { [unowned self] url in
                let isExpected = plan.hasState(of: url)
                if !isExpected { reportRefusal(translated("its state= is missing or wrong")) }
                return isExpected
            }
        } catch {
            throw CommandFailure(OpenURLError(.launchFailed, error.description))
        }
        self.server = server
        do throws(OpenURLError) {
            return try plan.url.setting("redirect_uri", to: server.redirect.description)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Shows the URL to a user whose browser may be on another machine.
    private func announce(_ url: GenericURL) {
        invocation.errors.print(translated("open this address: \(url)"))
        if plan.takesLines {
            invocation.errors.print(translated("paste the address that the browser shows at the end:"))
        }
    }

    private func claim(
        _ pattern: CallbackPattern,
        _ url: GenericURL,
        _ bus: BlockingConnection
    ) throws(CommandFailure) {
        guard let token = RouterClient.token,
            let path = bus.uniqueName.flatMap({ RequestInterface.path(of: $0, token) })
        else { return }
        let handle = RemoteObject(RouterService.name, path, startsService: false)
        bus.receive(CallbackHandleInterface.completed, from: handle) { [unowned self] body in
            let (code, url, details) = body.values
            complete(CallbackEnd(rawValue: code), url, details)
        }
        bus.receive(CallbackHandleInterface.refused, from: handle) { [unowned self] details in
            reportRefusal(details.error?.message ?? translated("the router gave no reason"))
        }
        var options = CallbackOptions()
        options.handleToken = token
        options.state = plan.state
        options.timeout = timeout
        options.activationToken = invocation.environment("XDG_ACTIVATION_TOKEN")
        _ = try router.call(
            CallbackInterface.request,
            Arguments(opens ? url.description : "", pattern.description, options)
        )
    }

    /// Reports the first refused callback without showing it, because it may contain a secret.
    private func reportRefusal(_ reason: String) {
        guard outcome == nil, !hasReportedRefusal else { return }
        hasReportedRefusal = true
        invocation.errors.print(translated("refused a callback and still waiting: \(reason)"))
    }

    private func complete(_ code: CallbackEnd?, _ url: String, _ details: CallbackDetails) {
        // The callback may already have arrived through a line or the server.
        guard outcome == nil else { return }
        let error =
            details.error
            ?? OpenURLError(.cancelled, translated("the router stopped waiting for the callback")).dbusError
        guard code == .received else {
            // The user may still open the URL on another machine, and paste the callback.
            if lines != nil, error.name == OpenURLError.Code.noHandler.errorName {
                return invocation.errors.print(translated("nothing here opens the address: \(error.message)"))
            }
            outcome = .failure(CommandFailure(.remote(error), refusal: ExitStatus.unavailable))
            return
        }
        do throws(GenericURL.ParseError) {
            outcome = .success(ReceivedCallback(url: try GenericURL(url), details: details))
        } catch {
            outcome = .failure(CommandFailure(error))
        }
    }

    /// Opens the URL. In the meantime, the server accepts the callback.
    private func open(_ url: GenericURL, _ bus: BlockingConnection) throws(CommandFailure) {
        var options = OpenOptions()
        options.activationToken = invocation.environment("XDG_ACTIVATION_TOKEN")
        do throws(CallError) {
            let call = try bus.begin(
                RouterInterface.openURL,
                on: RouterService.object,
                SentURL(url.description, options)
            )
            _ = try bus.answer(to: call, timeout: timeout, watching: watches)
        } catch {
            // The callback may have arrived even if the browser's command failed later.
            if outcome == nil, lines == nil { throw CommandFailure(error, refusal: ExitStatus.unavailable) }
        }
    }

    // MARK: Descriptors

    private var watches: [BlockingConnection.DescriptorToWatch] {
        var watches: [BlockingConnection.DescriptorToWatch] = []
        if let server {
            watches.append((descriptor: server.descriptor, isReadable: { [unowned self] in processServer() }))
        }
        if let lines, !lines.isAtEnd {
            watches.append((descriptor: invocation.input, isReadable: { [unowned self] in readLines() }))
        }
        if let interrupt {
            watches.append((descriptor: interrupt.descriptor, isReadable: { [unowned self] in cancel() }))
        }
        return watches
    }

    private func processServer() {
        guard let server, let url = server.process() else { return }
        server.confirm()
        if outcome == nil { outcome = .success(ReceivedCallback(url: url)) }
    }

    private func cancel() {
        guard interrupt?.take() == true else { return }
        outcome = .failure(
            CommandFailure(OpenURLError(.cancelled, translated("cancelled while waiting for the callback")))
        )
    }

    private func readLines() {
        for line in lines?.read() ?? [] where outcome == nil {
            do throws(GenericURL.ParseError) {
                let url = try GenericURL(line)
                if plan.isCallback(url, at: server?.redirect) {
                    outcome = .success(ReceivedCallback(url: url))
                    return
                }
            } catch {
                // The message below tells the user what is expected.
            }
            let beginning = plan.pattern?.description ?? server?.redirect.description ?? ""
            invocation.errors.print(
                translated("that is not the callback, which begins with \(beginning); paste the whole address")
            )
        }
    }
}
