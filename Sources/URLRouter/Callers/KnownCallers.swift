internal import DBus
internal import DequeModule
internal import OpenURLBus

/// The callers that the router has looked up: the last thousand.
///
/// A bus never gives a unique name to a second connection, so an entry stays true.
struct KnownCallers {
    private static let limit = 1024

    /// The class keeps the many look-ups of a caller from copying the facts about it.
    final class Entry {
        let source: OpenContext.Source
        /// The process of the connection; nil if the process had gone before it could be asked. The source may be another
        /// process, for which this one passes URLs on.
        let process: ProcessIdentity?

        init(source: OpenContext.Source, process: ProcessIdentity?) {
            self.source = source
            self.process = process
        }
    }

    private var entries: [BusName: Entry] = [:]
    private var order: Deque<BusName> = []

    subscript(name: BusName) -> Entry? { entries[name] }

    mutating func add(_ name: BusName, _ entry: Entry) {
        guard entries.updateValue(entry, forKey: name) == nil else { return }
        order.append(name)
        if order.count > Self.limit, let oldest = order.popFirst() { entries[oldest] = nil }
    }
}
