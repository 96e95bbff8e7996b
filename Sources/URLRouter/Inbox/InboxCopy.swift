/// A copy in an inbox on its way to the handler.
///
/// The object belongs to the router's actor.
final class InboxCopy {
    /// The handler, whose files the user lets the sender send.
    let handler: String
    /// Whether the handler has got the URL of the copy, or will get the URL from the queue.
    var isHandedOver = false

    init(for handler: String) {
        self.handler = handler
    }
}
