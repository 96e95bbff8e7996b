internal import DBus
internal import DequeModule
internal import OpenURLBus

/// The senders that the router has looked up: the last thousand.
///
/// A bus never gives a unique name to a second connection, so an entry stays true.
struct KnownSenders {
    private static let limit = 1024
    private var sources: [BusName: OpenContext.Source] = [:]
    private var order: Deque<BusName> = []

    subscript(name: BusName) -> OpenContext.Source? { sources[name] }

    mutating func add(_ name: BusName, _ source: OpenContext.Source) {
        guard sources.updateValue(source, forKey: name) == nil else { return }
        order.append(name)
        if order.count > Self.limit, let oldest = order.popFirst() { sources[oldest] = nil }
    }
}
