internal import OpenURLBus

/// How long to wait between attempts at a delivery.
enum RetryDelay {
    /// Number of attempts before a caller has to ask for more.
    static let attempts = 8

    /// Returns the time between a failed attempt and the next: 1, 2, 4 … 60 s; nil if there is no next attempt.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, from 1.
    ///   - code: The cause. If a handler or a rule has refused a delivery, it is not tried again.
    static func after(_ attempt: Int, _ code: OpenURLError.Code) -> Duration? {
        switch code {
        case .declined, .launchVetoed, .notAllowed, .loopDetected, .malformedURL, .notQueued, .invalidReply, .cancelled,
            .alreadyClaimed:
            return nil
        case .noHandler, .launchFailed, .handlerCrashed, .timedOut, .limitsExceeded: break
        }
        guard attempt < attempts else { return nil }
        return .seconds(min(1 << max(0, min(attempt - 1, 6)), 60))
    }
}
