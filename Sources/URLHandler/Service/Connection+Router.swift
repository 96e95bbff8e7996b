internal import DBus
internal import OpenURLBus

extension Connection {
    /// Calls a method of the router, and starts the router if necessary.
    ///
    /// - Throws: the router's error; `notAllowed` if there is none, because the router did not answer or the error is not
    ///   one of its own.
    func callRouter<Input: MessageBody & Sendable, Output: MessageBody & Sendable>(
        _ method: Method<Input, Output>,
        _ input: Input,
        timeout: Duration? = .seconds(25)
    ) async throws(OpenURLError) -> Output {
        do throws(CallError) {
            return try await call(method, on: RouterService.object, input, timeout: timeout)
        } catch {
            guard case .remote(let remote) = error else {
                throw OpenURLError(.notAllowed, "the router did not answer: \(error)")
            }
            throw OpenURLError(remote) ?? OpenURLError(.notAllowed, remote.message)
        }
    }
}
