public import DBus
public import OpenURLBus
public import RFC1808
internal import Reactor

/// A client that sends URLs to the handlers of their schemes, and asks whether a handler exists.
///
/// ```swift
/// let client = try await OpenURLClient()
/// let result = try await client.open(GenericURL("todolist://www.acme.com?Quarterly%20Report#200806231300"))
/// print(result.handler, result.reply)
/// ```
///
/// A client holds one connection to the session bus and its own event loop, so one client is enough for a program.
/// Several tasks may use the client at the same time. URLs that one task opens arrive in the order in which the task
/// opens them.
public struct OpenURLClient: Sendable {
    private let connection: Connection
    private let check: RouterCheck

    /// Connects to the session bus.
    ///
    /// - Throws: ``OpenURLClientError/unavailable(_:)`` if there is no session bus.
    public init() async throws(OpenURLClientError) {
        do {
            connection = try await Connection.open(on: try EventLoop())
        } catch {
            throw .unavailable("there is no session bus: \(error)")
        }
        check = RouterCheck(on: connection)
    }

    /// Creates a client that uses an existing connection of the program.
    ///
    /// The program keeps the connection. Call ``close()`` only if the program no longer needs the connection: that call
    /// closes the connection and stops its event loop.
    public init(connection: Connection) {
        self.connection = connection
        check = RouterCheck(on: connection)
    }

    /// Opens a URL, and returns when the handler has accepted it.
    ///
    /// The router keeps the URL from the moment of its arrival at the router. The URL therefore reaches the handler
    /// even if this task is cancelled, or if the program ends while the handler is starting.
    ///
    /// - Throws: ``OpenURLClientError/notOpened(_:)`` with the cause, or another ``OpenURLClientError`` if there is no
    ///   answer of the router.
    public func open(
        _ url: GenericURL,
        options: OpenOptions = OpenOptions()
    ) async throws(OpenURLClientError) -> OpenResult {
        try await call(RouterInterface.openURL, Arguments(url.description, options))
    }

    /// Returns whether this program may reach a handler for the URL. No handler is launched.
    public func canOpen(_ url: GenericURL) async throws(OpenURLClientError) -> Bool {
        try await call(RouterInterface.canOpenURL, url.description)
    }

    /// Returns a sentence about a program that owns the router's name and is not the router of the service file.
    ///
    /// The result is `nil` if the router has its name, if no router runs, or if this program cannot know: a program in a
    /// sandbox sees no other processes. The client sends no URL to such a program.
    public func routerWarning() async -> String? {
        await check.warning()
    }

    /// Ends the client. Requests that have no answer yet fail with ``OpenURLClientError/unknown(_:)``.
    public func close() async {
        await connection.close()
        connection.loop.stop()
    }

    private func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ input: Input
    ) async throws(OpenURLClientError) -> Output {
        if let warning = await check.warning() { throw .unavailable(warning) }
        do throws(CallError) {
            // The router bounds every request itself. A second, shorter limit here could only hide the result of the
            // request.
            return try await connection.call(method, on: RouterService.object, input, timeout: nil)
        } catch {
            throw OpenURLClientError(error)
        }
    }
}

/// The reason why a URL was not opened, or why the result is not known.
public enum OpenURLClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The router refused to open the URL, or the handler did.
    case notOpened(OpenURLError)
    /// There is no session bus, no router on the bus, or another program in the router's place. The URL was not opened.
    case unavailable(String)
    /// The router ended, or the task was cancelled, before there was an answer. The URL may have been opened.
    case unknown(String)
    /// The request cannot be sent, or the router rejects its arguments. The URL was not opened.
    case refused(String)

    init(_ error: CallError) {
        switch error {
        case .remote(let remote):
            if let error = OpenURLError(remote) {
                self = .notOpened(error)
            } else if remote.name == .noReply {
                self = .unknown("the router ended before it answered")
            } else if remote.isFromMissingService {
                self = .unavailable("the router cannot be reached: \(remote.message)")
            } else if remote.name == .invalidArguments {
                self = .refused(remote.message)
            } else {
                self = .unknown("the router does not know the outcome: \(remote)")
            }
        case .disconnected: self = .unknown("the session bus ended before the router answered")
        case .cancelled: self = .unknown("cancelled before the router answered")
        case .timedOut: self = .unknown("no answer came in time")
        case .notSent(let reason): self = .refused(reason.description)
        case .unexpectedReply(let reason): self = .unknown("the router's answer cannot be read: \(reason)")
        }
    }

    /// The reason as text for a person.
    public var description: String {
        switch self {
        case .notOpened(let error): error.message
        case .unavailable(let reason), .unknown(let reason), .refused(let reason): reason
        }
    }
}
