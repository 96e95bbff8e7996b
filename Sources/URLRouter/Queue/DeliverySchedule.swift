internal import DBus
internal import OpenURLBus

/// A URL that was accepted to be delivered later.
struct Delivery: Sendable, Hashable {
    /// The URL as it arrived.
    let url: String
    /// What would have got it at the time.
    let handler: String
    /// What its sender's options ask for.
    let options: OpenOptions
    /// Who sent it, as it was found out at the time.
    let context: OpenContext
}

/// When a delivery is tried, and how often.
enum DeliverySchedule {
    /// How often a delivery is tried until somebody asks for more.
    static let attempts = 8

    /// How long after a failure the next attempt is made: 1, 2, 4 … 60 s; nil if there is none.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt that failed, from 1.
    ///   - code: why. What a handler or a rule has refused is not tried again.
    static func delay(after attempt: Int, _ code: OpenURLError.Code) -> Duration? {
        switch code {
        case .declined, .launchVetoed, .notAllowed, .loopDetected, .malformedURL, .notQueued: return nil
        case .noHandler, .launchFailed, .handlerCrashed, .timedOut, .limitsExceeded: break
        }
        guard attempt < attempts else { return nil }
        return .seconds(min(1 << max(0, min(attempt - 1, 6)), 60))
    }
}
