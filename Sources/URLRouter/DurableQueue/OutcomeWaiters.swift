internal import DBus
internal import OpenURLBus

/// Callers that wait for the outcomes of queued URLs.
///
/// Each one counts towards its application, and one application gets at most half of what is left. This belongs to the
/// router's actor.
final class OutcomeWaiters {
    /// One caller waiting for one URL.
    final class Waiter {
        let id: Int64
        /// Whether the wait has ended because of an outcome, and not for another reason.
        private(set) var hasOutcome = false
        private var outcome: Result<OpenResult, OpenURLError>?
        private var continuation: CheckedContinuation<Result<OpenResult, OpenURLError>, Never>?

        fileprivate init(_ id: Int64) {
            self.id = id
        }

        /// Ends the wait without an outcome. Once the wait has ended, this does nothing.
        func giveUp(_ error: OpenURLError) { end(.failure(error), isOutcome: false) }

        fileprivate func end(_ outcome: Result<OpenResult, OpenURLError>, isOutcome: Bool) {
            guard self.outcome == nil else { return }
            self.outcome = outcome
            hasOutcome = isOutcome
            continuation?.resume(returning: outcome)
            continuation = nil
        }

        /// Returns when the wait has ended.
        func value() async throws(OpenURLError) -> OpenResult {
            try await withCheckedContinuation { continuation in
                // The outcome may already have arrived.
                if let outcome { return continuation.resume(returning: outcome) }
                self.continuation = continuation
            }.get()
        }
    }

    private var waiters: [Int64: [Waiter]] = [:]
    private var shares: Shares<String>

    init(limit: Int) {
        shares = Shares(limit: limit)
    }

    /// The number of waiters.
    var count: Int { shares.total }

    /// An application has as many waiters as it may have.
    struct Full: Error {
        /// The error for a caller that cannot wait.
        let error: OpenURLError
    }

    /// Performs `body` with a waiter for a URL. The waiter is counted until `body` returns.
    ///
    /// - Throws: ``Full``, and any error from `body`.
    func waiting<Result>(
        for id: Int64,
        _ account: String,
        _ body: (Waiter) async throws -> Result
    ) async throws -> Result {
        guard shares.refusal(of: account, 1) == nil else {
            let reason: QuotingText = "\(shares[account]) calls of \(account) are already waiting for replies"
            throw Full(error: OpenURLError(.limitsExceeded, reason))
        }
        shares.add(1, to: account)
        let waiter = Waiter(id)
        waiters[id, default: []].append(waiter)
        defer {
            shares.remove(1, from: account)
            waiters[id]?.removeAll { $0 === waiter }
            if waiters[id]?.isEmpty == true { waiters[id] = nil }
        }
        return try await body(waiter)
    }

    /// Ends the waits for a URL.
    func end(_ id: Int64, _ outcome: Result<OpenResult, OpenURLError>) {
        for waiter in waiters[id] ?? [] { waiter.end(outcome, isOutcome: true) }
    }

    /// Ends all waits without outcomes.
    func giveUpAll(_ error: OpenURLError) {
        for waiter in waiters.values.joined() { waiter.giveUp(error) }
    }
}
