internal import DBus
internal import OpenURLBus
internal import Reactor

/// Another program's request to activate the handler, which the handler passes on to the router.
///
/// The router decides who is in the foreground, and brings the handler there with a separate call. Because that call
/// has no token, the handler uses the token that the other program gave.
final class DesktopActivation: Sendable {
    private static let router = RemoteObject(RouterService.name, RouterService.path, startsService: false)

    private let tokens = Lock<OpenOptions?>(nil)

    /// Asks the router to bring the handler to the foreground.
    ///
    /// - Returns: false if there is no router that knows the handler.
    /// - Throws: the router's error, or `CallError` if the router does not answer.
    func passOn(_ id: BusName, _ options: OpenOptions, _ connection: Connection) async throws -> Bool {
        tokens.withLock { $0 = options }
        // By then, the tokens may be those of a later request.
        defer { tokens.withLock { if $0 == options { $0 = nil } } }
        do throws(CallError) {
            try await connection.call(LifecycleInterface.activate, on: Self.router, id.rawValue)
            return true
        } catch {
            guard case .remote(let answer) = error else { throw error }
            guard answer.isFromMissingService || OpenURLError(answer)?.code == .noHandler else { throw answer }
            return false
        }
    }

    /// Returns and removes the tokens of the program that wants the handler in the foreground.
    func takeTokens() -> OpenOptions? {
        tokens.withLock { tokens in
            defer { tokens = nil }
            return tokens
        }
    }
}
