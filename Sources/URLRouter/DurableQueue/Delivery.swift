internal import DBus
internal import OpenURLBus

/// A URL that was accepted for a later delivery.
struct Delivery: Sendable, Hashable {
    /// The URL as it arrived.
    let url: String
    /// The handler or application that would have got the URL when it arrived.
    let handler: String
    /// Options of the sender.
    let options: OpenOptions
    /// The sender, as it was known when the URL arrived.
    let context: OpenContext
    /// The number of the delivery among the repeats of the URL, from 0.
    var turn: Int64 = 0

    /// How often the delivery was given a new set of attempts after it had failed for good.
    var round: Int64 = 0
    /// The part of the request's name that other hosts cannot guess; empty for a URL to this host.
    var nonce = ""
    /// When the URL expires, in milliseconds since 1970; nil if it never does.
    var expires: Int64?

    /// Why the last attempt failed; nil if there was none.
    var problem: String?

    /// When the URL is due; nil if the sender has set no time.
    var schedule: DeliverySchedule? {
        options.deliveryTime.map { DeliverySchedule($0, every: options.repeatInterval, turn: turn) }
    }

    /// Returns the name of the request. A handler recognises a repeated attempt by the name, so each repeat of the URL has
    /// a name of its own.
    func name(_ id: Int64) -> String {
        let name = options.requestID?.rawValue ?? "\(id)"
        return options.repeatInterval == nil ? name : "\(name).\(turn)"
    }

    /// Why the URL is not delivered after it has expired.
    var expiryError: OpenURLError { Self.expiryError(after: problem) }

    /// Returns why a URL that has expired is not delivered.
    ///
    /// - Parameter problem: why the last attempt failed; nil if there was none.
    static func expiryError(after problem: String?) -> OpenURLError {
        if let problem { return OpenURLError(.timedOut, "the URL has expired; the last attempt failed: \(problem)") }
        return OpenURLError(.timedOut, "the URL has expired; no attempt was made")
    }

    /// The application whose share of the queue the delivery uses.
    var caller: String { context.source.account }
}
