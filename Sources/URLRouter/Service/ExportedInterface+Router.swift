internal import DBus

extension ExportedInterface.Member {
    /// Makes a method of one of the router's objects.
    ///
    /// - Parameter body: Runs in the router's isolation, so it can use the router's parts.
    static func method<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        of router: URLRouter,
        _ body: @escaping @Sendable (isolated URLRouter, IncomingCall, Input) async throws -> Output
    ) -> Self {
        .method(method) { call, input in try await body(router, call, input) }
    }
}
