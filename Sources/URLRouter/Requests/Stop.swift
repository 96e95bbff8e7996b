internal import OpenURLBus

/// The caller's way to stop a request on its way through the router.
///
/// Each stage of the request says how the request is withdrawn there. The object belongs to the router's actor.
final class Stop {
    let handle: RequestHandle
    /// Makes the calls fail that the request waits for.
    let abandon: @Sendable () -> Void

    init(_ handle: RequestHandle, _ abandon: @escaping @Sendable () -> Void) {
        self.handle = handle
        self.abandon = abandon
    }

    /// Whether the caller has cancelled the request.
    var isRequested: Bool { handle.isCancelled }

    /// Ends the request here if the caller has cancelled it, before a stage that would be in vain.
    func check() throws(OpenURLError) {
        if isRequested { throw .withdrawn }
    }

    /// Performs a stage.
    ///
    /// - Parameter withdraw: called at most once, if the caller cancels while `body` runs.
    func during<Result>(
        _ withdraw: @escaping () -> Void,
        _ body: () async throws(OpenURLError) -> Result
    ) async throws(OpenURLError) -> Result {
        try check()
        handle.withdraw = withdraw
        defer { handle.withdraw = nil }
        return try await body()
    }
}

extension OpenURLError {
    /// The error of a request that was cancelled before any handler or application had the URL.
    static var withdrawn: OpenURLError {
        OpenURLError(.cancelled, "the request was cancelled before a handler had the URL")
    }
}
