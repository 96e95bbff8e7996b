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
        private var outcome: Result<OpenResult, OpenURLError>?
        private var continuation: CheckedContinuation<Result<OpenResult, OpenURLError>, Never>?

        fileprivate init(_ id: Int64) {
            self.id = id
        }

        /// Ends the wait. A second call does nothing.
        func end(_ outcome: Result<OpenResult, OpenURLError>) {
            guard self.outcome == nil else { return }
            self.outcome = outcome
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

    /// Performs `body` with a waiter for a URL. The waiter is counted until `body` returns.
    ///
    /// - Throws: `limitsExceeded`, and any error from `body`.
    func waiting<Result>(
        for id: Int64,
        _ account: String,
        _ body: (Waiter) async throws -> Result
    ) async throws -> Result {
        guard shares.refusal(of: account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(shares[account]) calls of \(account) are already waiting for replies"
            )
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
        for waiter in waiters[id] ?? [] { waiter.end(outcome) }
    }

    /// Ends all waits.
    func endAll(_ error: OpenURLError) {
        for waiter in waiters.values.joined() { waiter.end(.failure(error)) }
    }
}
