public import DBus
public import OpenURLBus
public import RFC1808
public import Reactor

/// A client that sends URLs to the handlers for their schemes, and asks whether a handler exists.
///
/// ```swift
/// let client = try await OpenURLClient()
/// let result = try await client.open(GenericURL("todolist://www.acme.com?Quarterly%20Report#200806231300"))
/// print(result.handler, result.reply)
/// ```
///
/// One client is enough for a program. It has its own event loop, and its own connections to the router. If the router
/// is running, the connection goes through the router's own socket. Otherwise it goes through the session bus, which
/// starts the router. Several tasks may use the client at the same time. If one task opens several URLs, they arrive in
/// the order in which it opens them.
public struct OpenURLClient: Sendable {
    let ways: WaysToRouter

    /// Connects to the session's router: over the router's own socket if it is running, otherwise over the session bus,
    /// which starts the router.
    ///
    /// - Throws: ``OpenURLClientError/unavailable(_:)`` if there is no session bus.
    public init() async throws(OpenURLClientError) {
        let loop: EventLoop
        do {
            loop = try EventLoop()
        } catch {
            throw .unavailable("the event loop cannot be created: \(error)")
        }
        do throws(OpenURLClientError) {
            try await self.init(on: loop)
        } catch {
            // Otherwise, its thread would wait until the program ends.
            loop.stop()
            throw error
        }
    }

    /// Connects to the router as ``init()`` does, but on one of the program's event loops, which ``close()`` stops.
    ///
    /// If a task prefers this loop (`Task(executorPreference:)`), it opens a URL without switching threads.
    public init(on loop: EventLoop) async throws(OpenURLClientError) {
        ways = try await WaysToRouter(on: loop)
    }

    /// Connects through ssh to the session bus of a user on another machine, as `openurl --host` does.
    ///
    /// This works only if ssh reaches the host without asking the user, for example with a key, and if the other
    /// machine has `systemd-stdio-bridge`, a part of systemd. The router there treats this program as one of that
    /// user's programs. File descriptors cannot be passed.
    ///
    /// - Parameter host: `HOST` or `USER@HOST`, in the form that ssh accepts.
    /// - Throws: ``OpenURLClientError/unavailable(_:)`` if the name is empty or begins with `-`, or if there is no
    ///   connection; ssh prints its own reason on standard error.
    public init(host: String) async throws(OpenURLClientError) {
        guard let bus = BusAddress.host(host) else { throw .unavailable("'\(host)' is not the name of a host") }
        do {
            let loop = try EventLoop()
            do throws(ConnectionError) {
                let connection = try await Connection.open(bus, on: loop)
                ways = WaysToRouter(only: WayToRouter(bus: connection, isLocal: false))
            } catch {
                loop.stop()
                throw error
            }
        } catch {
            throw .unavailable("the session bus of \(host) cannot be reached: \(error)")
        }
    }

    /// Creates a client that uses one of the program's existing connections.
    ///
    /// The connection still belongs to the program. Call ``close()`` only if you no longer need the connection, because
    /// that closes it and stops its event loop.
    public init(connection: Connection) {
        ways = WaysToRouter(only: WayToRouter(bus: connection))
    }

    /// Creates a client that chooses among several connections.
    init(ways: WaysToRouter) { self.ways = ways }

    /// Opens a URL, and returns when the handler has accepted it.
    ///
    /// Once the URL has reached the router, the router is responsible for it. The URL therefore reaches the handler
    /// even if your program exits while the handler is starting.
    ///
    /// If the task is cancelled, so is the request, and the method does not wait for the outcome. If the URL has not
    /// reached a handler yet, it is not delivered; a handler that already has it is asked to stop. If the router has
    /// stored the URL, the URL stays in the queue.
    ///
    /// - Throws: ``OpenURLClientError/notOpened(_:)`` with the cause, or another ``OpenURLClientError`` if the router
    ///   does not answer; `CancellationError` if the task is cancelled.
    public func open(_ url: GenericURL, options: OpenOptions = OpenOptions()) async throws -> OpenResult {
        var options = options
        if options.handleToken == nil, !options.isQueued { options.handleToken = HandleToken.next() }
        return try await perform(url, options)
    }

    /// Opens a URL that is given as text, as ``open(_:options:)-(GenericURL,_)`` does.
    ///
    /// ```swift
    /// try await client.open("todolist:?Buy%20milk")
    /// ```
    ///
    /// - Throws: ``OpenURLClientError/notOpened(_:)`` with the code `malformedURL` if the text is not a URL; otherwise
    ///   the errors of that method.
    @discardableResult
    public func open(_ url: String, options: OpenOptions = OpenOptions()) async throws -> OpenResult {
        let parsed: GenericURL
        do throws(GenericURL.ParseError) {
            parsed = try GenericURL(url)
        } catch {
            throw OpenURLClientError.notOpened(OpenURLError(.malformedURL, error.description))
        }
        return try await open(parsed, options: options)
    }

    /// Opens a URL as ``open(_:options:)-(GenericURL,_)`` does, and reports the handler's progress.
    ///
    /// - Parameter progress: gets the handler's reports in order, at most ten a second, and the last one before the
    ///   method returns. A closure that takes longer than that misses reports, but never the last one.
    public func open(
        _ url: GenericURL,
        options: OpenOptions = OpenOptions(),
        progress: @escaping @Sendable (ProgressReport) async -> Void
    ) async throws -> OpenResult {
        var options = options
        if options.handleToken == nil { options.handleToken = HandleToken.next() }
        return try await withErrorsOfClient { [options] in
            try await ways.call { way in
                let rule = MatchRule(sender: RouterService.name, path: way.path(of: options.handleToken))
                let signals = try await way.connection.signals(RequestInterface.progress, matching: rule)
                return try await withThrowingTaskGroup { group in
                    group.addTask {
                        for await signal in signals {
                            let (fraction, message) = signal.body.values
                            if let report = ProgressReport(fraction, message) { await progress(report) }
                        }
                    }
                    let result = try await way.open(url, options, with: RouterInterface.openURL)
                    // All reports have arrived. The task handles those that are waiting, and then ends.
                    group.cancelAll()
                    try await group.waitForAll()
                    return result
                }
            }
        }
    }

    /// Opens a URL and returns its handler's answer (x-callback-url).
    ///
    /// ```swift
    /// let url = try GenericURL("notes://x-callback-url/create")
    /// let answer = try await client.call(url, parameters: ["title": "Milk"])
    /// print(answer.reply["id"]?.string ?? "")
    /// ```
    ///
    /// The router sets `x-success`, `x-error` and `x-cancel`; any other parameter in the URL that begins with `x-` is
    /// left out. In the result, `reply` contains the parameters of `x-success`, or the handler's reply to the URL
    /// itself. If the task is cancelled, so is the call, as in ``open(_:options:)-(GenericURL,_)``.
    ///
    /// - Parameters:
    ///   - parameters: parameters to add to the URL, in this order.
    ///   - options: the options for opening the URL; `timeout` is the time limit for the answer, two minutes if it is
    ///     nil.
    /// - Throws: ``OpenURLClientError/notOpened(_:)`` with the cause: `declined` after `x-error`, `cancelled` after
    ///   `x-cancel`, `timedOut`, and the causes that ``open(_:options:)-(GenericURL,_)`` has; another
    ///   ``OpenURLClientError``; `CancellationError`.
    public func call(
        _ url: GenericURL,
        parameters: KeyValuePairs<String, String> = [:],
        options: OpenOptions = OpenOptions()
    ) async throws -> OpenResult {
        var options = options
        if options.handleToken == nil { options.handleToken = HandleToken.next() }
        let called: GenericURL
        do throws(OpenURLError) {
            called = try url.removingXParameters().appending(parameters.map { (name: $0.key, value: $0.value) })
        } catch {
            throw OpenURLClientError.notOpened(error)
        }
        return try await perform(called, options, with: RouterInterface.call)
    }

    private func perform(
        _ url: GenericURL,
        _ options: OpenOptions,
        with method: Method<SentURL, OpenResult> = RouterInterface.openURL
    ) async throws -> OpenResult {
        try await withErrorsOfClient { try await ways.call { try await $0.open(url, options, with: method) } }
    }

    /// Returns whether this program may reach a handler for the URL, without launching one.
    public func canOpen(_ url: GenericURL) async throws(OpenURLClientError) -> Bool {
        try await call(RouterInterface.canOpenURL, url.description)
    }

    /// Returns a warning if a program other than the installed router owns the router's name, or if the bus does not
    /// say which program does.
    ///
    /// It is `nil` if the router has its name, if no router is running, or if this program cannot find out, because it
    /// is in a sandbox and sees no other processes. It is also `nil` if `OPENURL_ROUTER` in the environment specifies
    /// the other program. If there is a warning, the client sends nothing.
    public func routerWarning() async -> String? {
        do {
            return try await ways.call { await $0.check?.warning() }
        } catch {
            return nil
        }
    }

    /// Ends the client, which keeps its thread and its connections until then.
    ///
    /// A request that is waiting for its answer, or for a callback, fails with ``OpenURLClientError/unknown(_:)``. One
    /// that is still connecting, and a later one, fail with ``OpenURLClientError/unavailable(_:)``.
    public func close() async {
        await ways.close()
    }

    private func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ input: Input
    ) async throws(OpenURLClientError) -> Output {
        do {
            return try await ways.call { way in
                try await way.refuseStranger()
                // The router itself limits the time of every request. A second, shorter limit here could only hide the
                // result.
                return try await way.connection.call(method, on: RouterService.object, input, timeout: nil)
            }
        } catch {
            throw OpenURLClientError(failure: error)
        }
    }
}

/// Converts errors thrown by `body` to a client's errors.
///
/// - Throws: ``OpenURLClientError``, or `CancellationError`.
func withErrorsOfClient<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch CallError.cancelled {
        throw CancellationError()
    } catch let error as CancellationError {
        throw error
    } catch {
        throw OpenURLClientError(failure: error)
    }
}

extension WayToRouter {
    /// Throws if a program other than the router has the router's name, or if the bus does not say which program does.
    package func refuseStranger() async throws(OpenURLClientError) {
        if let warning = await check?.warning() { throw .unavailable(warning) }
    }

    /// Opens a URL, or cancels the request if the task is cancelled.
    func open(
        _ url: GenericURL,
        _ options: OpenOptions,
        with method: Method<SentURL, OpenResult>
    ) async throws -> OpenResult {
        try await refuseStranger()
        do throws(CallError) {
            let input = SentURL(url.description, options)
            return try await connection.call(method, on: RouterService.object, input, timeout: nil)
        } catch {
            if error == .cancelled { await withdraw(options.handleToken) }
            throw error
        }
    }

    /// Cancels a request.
    ///
    /// The connection keeps messages in order, so the router has already received the request. Without a token, or a
    /// name on the connection, this does nothing.
    package func withdraw(_ token: HandleToken?) async {
        guard let path = path(of: token) else { return }
        do throws(CallError) {
            let handle = RemoteObject(RouterService.name, path, startsService: false)
            try await connection.send(RequestInterface.cancel, on: handle, Empty())
        } catch {
            // The connection has ended. The router does not treat that as a request to cancel.
        }
    }

    /// Returns the path of a request's handle; nil without a bus or a token.
    package func path(of token: HandleToken?) -> ObjectPath? {
        guard let token, let name else { return nil }
        return RequestInterface.path(of: name, token)
    }
}

/// Why a URL was not opened, or why the result is unknown.
public enum OpenURLClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The router or the handler refused to open the URL.
    case notOpened(OpenURLError)
    /// There is no session bus or no router on it, another program has taken the router's place, or the bus does not
    /// say which program is the router. The URL was not opened.
    case unavailable(String)
    /// The router exited, or the task was cancelled, before there was an answer. The URL may have been opened.
    case unknown(String)
    /// The request cannot be sent, or the router rejects its arguments. The URL was not opened.
    case refused(String)

    init(failure: any Error) {
        switch failure {
        case let error as OpenURLClientError: self = error
        case let error as CallError: self = OpenURLClientError(error)
        case let error as OpenURLError: self = .notOpened(error)
        case let error as ConnectionError: self = .unavailable("there is no session bus: \(error)")
        default: self = .unknown(String(describing: failure))
        }
    }

    init(_ error: CallError) {
        switch error {
        case .remote(let remote):
            if let error = OpenURLError(remote) {
                self = .notOpened(error)
            } else if remote.name == .noReply {
                self = .unknown("the router exited before it answered")
            } else if remote.isFromMissingService {
                self = .unavailable("the router cannot be reached: \(remote.message)")
            } else if remote.name == .invalidArguments {
                self = .refused(remote.message)
            } else {
                self = .unknown("the router does not know the outcome: \(remote)")
            }
        case .disconnected: self = .unknown("the connection to the session bus was lost before the router answered")
        case .cancelled: self = .unknown("cancelled before the router answered")
        case .timedOut: self = .unknown("the router did not answer in time")
        case .notSent(let reason): self = .refused(reason.description)
        case .unexpectedReply(let reason): self = .unknown("the router's answer cannot be read: \(reason)")
        }
    }

    /// The reason, for people to read.
    public var description: String {
        switch self {
        case .notOpened(let error): error.message
        case .unavailable(let reason), .unknown(let reason), .refused(let reason): reason
        }
    }
}
