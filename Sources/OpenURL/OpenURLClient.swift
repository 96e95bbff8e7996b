public import DBus
public import OpenURLBus
public import RFC1808
internal import Reactor

/// Sends URLs to the handlers of their schemes, and asks whether there is one.
///
/// ```swift
/// let client = try await OpenURLClient()
/// let result = try await client.open(GenericURL("todolist://www.acme.com?Quarterly%20Report#200806231300"))
/// print(result.handler, result.reply)
/// ```
///
/// A client holds one connection to the session bus, on an event loop of its own; a program needs one. It may be used from
/// any task, by several at once. URLs that one task opens arrive in the order in which it opens them.
public struct OpenURLClient: Sendable {
    private let connection: Connection

    /// Connects to the session bus.
    ///
    /// - Throws: ``OpenURLClientError/unavailable(_:)`` when there is none.
    public init() async throws(OpenURLClientError) {
        do {
            connection = try await Connection.open(on: try EventLoop())
        } catch {
            throw .unavailable("there is no session bus: \(error)")
        }
    }

    /// Uses a connection that the program has already; it stays the program's.
    public init(connection: Connection) {
        self.connection = connection
    }

    /// Opens a URL and returns when its handler has said yes.
    ///
    /// The router keeps the URL from the moment it has it: it arrives even when this task is cancelled or the program
    /// ends while the handler is starting.
    ///
    /// - Throws: ``OpenURLClientError/notOpened(_:)`` with the cause, or why the router's answer is not known.
    public func open(
        _ url: GenericURL,
        options: OpenOptions = OpenOptions()
    ) async throws(OpenURLClientError) -> OpenResult {
        try await call(RouterInterface.openURL, Arguments(url.description, options))
    }

    /// Whether there is a handler for the URL that this program may reach. Nothing is launched for it.
    public func canOpen(_ url: GenericURL) async throws(OpenURLClientError) -> Bool {
        try await call(RouterInterface.canOpenURL, url.description)
    }

    /// Ends the client: what is under way fails with ``OpenURLClientError/unknown(_:)``.
    public func close() async {
        await connection.close()
        connection.loop.stop()
    }

    private func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ input: Input
    ) async throws(OpenURLClientError) -> Output {
        do throws(CallError) {
            // The router bounds every request; a second, shorter limit here could only hide what became of it.
            return try await connection.call(method, on: RouterService.object, input, timeout: nil)
        } catch {
            throw OpenURLClientError(error)
        }
    }
}

/// Why a URL was not opened, or why that is not known.
public enum OpenURLClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The router answered no.
    case notOpened(OpenURLError)
    /// There is no session bus, or no router on it; nothing was opened.
    case unavailable(String)
    /// The router went away, or the task was cancelled, before there was an answer; the URL may have been opened.
    case unknown(String)
    /// The router does not take the request as it is; nothing was opened.
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
                self = .unknown("the router cannot say what became of it: \(remote)")
            }
        case .disconnected: self = .unknown("the session bus ended before the router answered")
        case .cancelled: self = .unknown("cancelled before the router answered")
        case .timedOut: self = .unknown("no answer came in time")
        case .notSent(let reason): self = .refused(reason.description)
        case .unexpectedReply(let reason): self = .unknown("the router's answer cannot be read: \(reason)")
        }
    }

    /// The reason for a person.
    public var description: String {
        switch self {
        case .notOpened(let error): error.message
        case .unavailable(let reason), .unknown(let reason), .refused(let reason): reason
        }
    }
}
