internal import OpenURLBus

/// Limits of a ``DeliveryStore``.
struct DeliveryStoreLimits: Sendable {
    /// Number of deliveries, including dead letters. ``QueueShares`` divides this number and ``bytes`` among the
    /// callers.
    var deliveries = QueueInterface.capacity
    /// Size of all deliveries, in bytes.
    var bytes = 256 << 20
    /// Number of dead letters. One sender gets at most half of what the others leave; its oldest ones make way for its
    /// new ones.
    var deadLetters = 1000
    /// Number of replies, which ``QueueShares`` divides as it does the deliveries.
    var replies = QueueInterface.keptReplies
    /// Size of all replies, in bytes.
    var replyBytes = 64 << 20
    /// Number of requests from other hosts that are remembered, which ``QueueShares`` divides as it does the deliveries.
    var received = 262_144
    /// Size of the outcomes of these requests, in bytes.
    var receivedBytes = 128 << 20
    /// Length of a stored error message, in Unicode scalars.
    var messageLength = 1024

    /// Returns an error's message, cut to the length that is stored.
    func message(of error: OpenURLError) -> String {
        let message = error.message.unicodeScalars
        guard message.count > messageLength else { return error.message }
        return "\(String(String.UnicodeScalarView(message.prefix(messageLength - 1))))…"
    }
}
