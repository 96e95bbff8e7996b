internal import OpenURLBus

/// Stops a request on its way through the router, on behalf of its caller.
///
/// Each stage of the request specifies how the request is withdrawn at that stage. This belongs to the router's actor.
final class Stop {
    let handle: RequestHandle
    /// Makes the request's pending calls fail.
    let abandon: @Sendable () -> Void

    init(_ handle: RequestHandle, _ abandon: @escaping @Sendable () -> Void) {
        self.handle = handle
        self.abandon = abandon
    }

    /// Whether the caller has cancelled the request.
    var isRequested: Bool { handle.isCancelled }
}

extension OpenURLError {
    /// The error for a request that was cancelled before any handler or application had the URL.
    static var withdrawn: OpenURLError {
        OpenURLError(.cancelled, "the request was cancelled before a handler got the URL")
    }
}
