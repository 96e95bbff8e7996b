internal import OpenURLBus

extension CallerClass {
    /// Whether the caller must learn nothing about handlers that are not for it.
    var isConfined: Bool {
        switch self {
        case .user, .handler: false
        case .sandboxed, .remote, .unknown: true
        }
    }
}

extension OpenURLError {
    /// The error without the system's paths, processes and names, which a confined caller must not learn.
    var forConfinedCallers: OpenURLError {
        switch code {
        case .noHandler: Self.noReachableHandler
        case .launchFailed: OpenURLError(code, "the handler could not be started")
        case .handlerCrashed: OpenURLError(code, "the handler exited before it answered; it may have acted on the URL")
        case .timedOut: OpenURLError(code, "the handler did not answer in time")
        case .invalidReply: OpenURLError(code, "the handler's answer cannot be read; it may have acted on the URL")
        case .cancelled: OpenURLError(code, "the request was cancelled")
        case .notQueued: OpenURLError(code, "the URL could not be queued")
        case .limitsExceeded: OpenURLError(code, "a limit is reached; try again later, or send less")
        case .declined, .launchVetoed, .notAllowed, .loopDetected, .malformedURL, .alreadyClaimed: self
        }
    }

    /// The error for confined callers. It does not reveal whether the URL has no handler, or a handler that accepts
    /// nothing from them.
    static var noReachableHandler: OpenURLError {
        OpenURLError(.noHandler, "no handler that this program can reach claims the URL")
    }
}
