internal import OpenURLBus

/// A request that the bridge has published, or is about to, until the router has its outcome.
///
/// It belongs to the bridge's actor. The request itself is not kept, because the router brings it again.
final class SentRequest {
    let host: HostName
    /// How often it was published.
    private var publications = 0
    /// When the broker may get it again; nil for at once.
    private var next: ContinuousClock.Instant?
    /// An outcome for which no call was waiting, as it arrived, and the host that sent it. ``SentRequests`` counts its bytes.
    var kept: (bytes: [UInt8], sender: HostName)?
    /// Why the broker refuses the last publication; nil if it does not.
    private(set) var refusal: String?
    private var waiter: CheckedContinuation<OpenOutcome?, Never>?

    /// How long the broker has to deliver a request before it gets it again: this time at first, and four times as long each
    /// time, up to a day. A broker that has lost a request gets it again, and one that has it gets few copies.
    private static let firstDelay = Duration.seconds(60)
    /// How long the broker has to deliver a request to one of a group's members. It may have chosen one that is off, and must have
    /// dropped the request before it gets it again, or that member would open the URL as well when it is on.
    private static let groupExpiry = Duration.seconds(480)
    /// How long a group's request waits before the broker gets it again. The broker counts from the arrival of the request,
    /// which takes a while if the connection has just been cut.
    private static let groupDelay = groupExpiry + .seconds(120)

    init(to host: HostName) { self.host = host }

    /// Returns how long the broker keeps a request, whose URL may wait for the given time. The rest of this time begins when the
    /// request arrives.
    static func expiry(of lifetime: Duration, to host: HostName) -> Duration {
        host.isGroup ? min(lifetime, groupExpiry) : lifetime
    }

    /// Whether the broker should get the request now.
    var isDue: Bool { next.map { $0 <= .now } ?? true }
    var isWaitedFor: Bool { waiter != nil }

    /// Notes that it was published.
    func published() {
        let delay = min(Self.firstDelay * (1 << min(2 * publications, 20)), .seconds(86_400))
        next = .now + (host.isGroup ? Self.groupDelay : delay)
        publications += 1
        refusal = nil
    }

    /// Notes that the broker does not take it.
    func wasRefused(_ reason: String) {
        refusal = reason
        next = nil
    }

    /// Notes that the broker may not have it. A group's request still waits: if the broker has it after all, another member
    /// would get it, too.
    ///
    /// - Returns: whether it is due because of this.
    @discardableResult
    func wasLost() -> Bool {
        guard !host.isGroup, !isDue else { return false }
        next = nil
        return true
    }

    /// Returns the outcome; nil when ``end(_:)`` is called without one, or if one is kept.
    func wait() async -> OpenOutcome? {
        waiter?.resume(returning: nil)
        return await withCheckedContinuation { continuation in
            // The outcome may arrive before this closure runs.
            if kept == nil { waiter = continuation } else { continuation.resume(returning: nil) }
        }
    }

    /// Ends the wait.
    ///
    /// - Returns: whether a call was waiting.
    @discardableResult
    func end(_ outcome: OpenOutcome?) -> Bool {
        defer { waiter = nil }
        waiter?.resume(returning: outcome)
        return waiter != nil
    }
}
