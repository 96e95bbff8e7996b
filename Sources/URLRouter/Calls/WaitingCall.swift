internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// A call that waits for its handler to answer.
///
/// It belongs to the router's actor.
final class WaitingCall {
    /// The secret that an answer has to contain: 128 random bits as text.
    let token: String
    /// The application that the call counts towards.
    let account: String
    /// Verified sender, for `x-source`; nil if it is not known.
    private let source: String?
    /// The handler or application that gets the URL; no other one may answer. Nil until it is known.
    private(set) var claimant: Claimant?
    /// The request's ID; nil until the URL is on its way.
    var requestID: String?

    /// The task that opens the URL. It continues even if the callback comes before the handler's reply.
    var opening: Task<Void, Never>?

    private var outcome: Result<OpenResult, OpenURLError>?
    private var continuation: CheckedContinuation<Void, Never>?

    init(of sender: Caller) {
        var generator = SystemRandomNumberGenerator()
        token = (0..<2).map { _ in generator.next().hexDigits }.joined()
        account = sender.account
        let isKnown = sender.callerClass == .user && !sender.source.isIntermediary
        let program = isKnown ? sender.source.program?.split(separator: "/").last : nil
        source = sender.source.application ?? program.map(String.init)
    }

    /// Whether the call has its outcome.
    var hasEnded: Bool { outcome != nil }

    /// Records the destination of the URL, and adds the callbacks to the URL.
    ///
    /// - Throws: `limitsExceeded` if this makes the URL too long.
    func take(_ destination: inout Destination) throws(OpenURLError) {
        claimant = destination.claimant
        let callbacks = CallAnswer.Kind.allCases.map { (name: "x-\($0.rawValue)", value: CallAnswer($0, token).text) }
        destination.delivered = try destination.url.appending(
            (source.map { [(name: "x-source", value: $0)] } ?? []) + callbacks
        )
    }

    /// Ends the call. If it already has its outcome, nothing happens.
    func end(_ outcome: Result<OpenResult, OpenURLError>) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        continuation?.resume()
    }

    /// Waits for the outcome. Call it only once.
    func result() async throws(OpenURLError) -> OpenResult {
        await withCheckedContinuation { continuation in
            // Other jobs of the loop may run before this closure, so the outcome may already be there.
            if hasEnded { continuation.resume() } else { self.continuation = continuation }
        }
        guard let outcome else { throw .withdrawn }
        return try outcome.get()
    }
}
