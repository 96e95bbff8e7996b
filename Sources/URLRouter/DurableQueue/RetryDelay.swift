internal import OpenURLBus

/// How long to wait between attempts at a delivery.
enum RetryDelay {
    /// Number of attempts before a caller has to ask for more.
    static let attempts = 8

    /// The least time between an attempt that failed before its own time, and another one like it.
    static let leastBetweenEarlyAttempts = Duration.seconds(1)

    /// Returns whether a delivery that has failed for this reason is tried again. If a handler or a rule has refused it, it
    /// is not.
    static func isTriedAgain(_ code: OpenURLError.Code) -> Bool {
        switch code {
        case .declined, .launchVetoed, .notAllowed, .loopDetected, .malformedURL, .notQueued, .invalidReply, .cancelled,
            .alreadyClaimed:
            false
        case .noHandler, .launchFailed, .handlerCrashed, .timedOut, .limitsExceeded: true
        }
    }

    /// Returns the time between a failed attempt and the next: 1, 2, 4 … 60 s; nil if there is no next attempt.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, from 1.
    ///   - code: The cause.
    static func after(_ attempt: Int, _ code: OpenURLError.Code) -> Duration? {
        guard isTriedAgain(code), attempt < attempts else { return nil }
        return .seconds(min(1 << max(0, min(attempt - 1, 6)), 60))
    }
}
