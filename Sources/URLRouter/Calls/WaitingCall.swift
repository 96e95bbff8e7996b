internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// A call that waits for the answer of its handler.
///
/// The object belongs to the router's actor.
final class WaitingCall {
    /// 128 random bits as text: the secret that an answer has to bring.
    let token: String
    /// The application that the call is counted to.
    let account: String
    /// The verified sender, for `x-source`; nil if the sender is not known.
    private let source: String?
    /// The handler or application that gets the URL, and that alone may answer; nil until it is known.
    private(set) var claimant: Claimant?
    /// The name of the request; nil until the URL is on its way.
    var requestID: String?

    /// The task that opens the URL. It goes on if the callback comes before the handler's reply.
    var opening: Task<Void, Never>?

    private var outcome: Result<OpenResult, OpenURLError>?
    private var continuation: CheckedContinuation<Void, Never>?

    init(of sender: Caller) {
        var generator = SystemRandomNumberGenerator()
        token = (0..<2).map { _ in generator.next().hexDigits }.joined()
        account = sender.account
        let isKnown = sender.callerClass == .user && !sender.source.isIntermediary
        let program = isKnown ? sender.source.executable?.split(separator: "/").last : nil
        source = sender.source.application ?? program.map(String.init)
    }

    /// Whether the call has its outcome.
    var hasEnded: Bool { outcome != nil }

    /// Notes the destination of the URL, and adds the callbacks to the URL.
    ///
    /// - Throws: `limitsExceeded` if the URL becomes too long.
    func take(_ destination: inout Destination) throws(OpenURLError) {
        claimant = destination.claimant
        let callbacks = CallAnswer.Kind.allCases.map { (name: "x-\($0.rawValue)", value: CallAnswer($0, token).text) }
        destination.delivered = try destination.url.appending(
            (source.map { [(name: "x-source", value: $0)] } ?? []) + callbacks
        )
    }

    /// Ends the call. Does nothing for a call that has its outcome.
    func end(_ outcome: Result<OpenResult, OpenURLError>) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        continuation?.resume()
    }

    /// Waits for the outcome. Call it once.
    func result() async throws(OpenURLError) -> OpenResult {
        await withCheckedContinuation { continuation in
            // The outcome may have come on the way to here, which can lead through the loop's jobs.
            if hasEnded { continuation.resume() } else { self.continuation = continuation }
        }
        guard let outcome else { throw .withdrawn }
        return try outcome.get()
    }
}
