internal import DBus

/// The memory that one suspended handler would free by exiting.
struct SuspendedMemory: Hashable {
    let id: BusName
    /// The process's resident memory.
    let bytes: UInt64
    /// When the process was stopped.
    let since: ContinuousClock.Instant

    /// Returns the handlers that use at least half as much memory as the largest, in the order in which they were
    /// suspended.
    ///
    /// A smaller difference is ignored: if a handler was used a moment ago, ending it would cost its user more than
    /// this difference is worth.
    private static func largest(of suspended: [SuspendedMemory]) -> [SuspendedMemory] {
        let most = suspended.map(\.bytes).max() ?? 0
        return suspended.filter { $0.bytes >= most - most / 2 }.sorted {
            ($0.since, $0.id.rawValue) < ($1.since, $1.id.rawValue)
        }
    }

    /// Returns the handler to end when memory is short: the largest, or, among several of similar size, the one that
    /// has been suspended the longest.
    ///
    /// - Returns: nil if no handler is suspended.
    static func nextToEnd(of suspended: [SuspendedMemory]) -> SuspendedMemory? { largest(of: suspended).first }

    /// Returns in words why this handler is the next to end.
    func reason(among suspended: [SuspendedMemory]) -> String {
        let similar = Self.largest(of: suspended).count
        if suspended.count == 1 { return "it is the only suspended handler" }
        return similar == 1 ? "it is the largest" : "it is the longest suspended of the \(similar) largest"
    }
}
