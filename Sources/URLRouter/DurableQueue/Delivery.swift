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

    /// The application whose share of the queue the delivery uses.
    var caller: String { context.source.account }
}
