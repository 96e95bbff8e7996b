internal import DBus
internal import OpenURLBus

/// A URL that was accepted for a later delivery.
struct Delivery: Sendable, Hashable {
    /// The URL as it arrived.
    let url: String
    /// The handler or application that would have got the URL when it arrived.
    let handler: String
    /// The sender's options.
    let options: OpenOptions
    /// The sender, as it was known when the URL arrived.
    let context: OpenContext

    /// The program whose share of the queue the delivery uses: the identifier of a handler, or the path of another program.
    /// The text is empty for all senders that are not known: those that had gone before they could be looked up, and those of
    /// URLs that an earlier version stored.
    var caller: String { context.sourceApplication ?? context.source.executable ?? "" }
}
