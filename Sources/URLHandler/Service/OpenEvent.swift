internal import OpenURLBus
internal import RFC1808

/// A URL on its way to the delegate. This is a class, because copying the context would mean retaining twenty values.
final class OpenEvent: Sendable {
    let url: GenericURL
    let context: OpenContext
    /// A way to cancel the URL and to report on it; nil if a program other than a router sent it.
    let arrived: ArrivedURL?

    /// The event's place in the handler's life.
    var kind: LifecycleEvent { context.inBackground ? .openInBackground : .open }

    init(_ url: GenericURL, _ context: consuming OpenContext, _ arrived: ArrivedURL?) {
        self.url = url
        self.context = context
        self.arrived = arrived
    }
}
