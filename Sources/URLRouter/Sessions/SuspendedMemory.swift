internal import DBus

/// The memory that the end of one suspended handler gives back.
struct SuspendedMemory: Hashable {
    let id: BusName
    /// The resident memory of the process.
    let bytes: UInt64
    /// The time at which the process was stopped.
    let since: ContinuousClock.Instant

    /// The handlers with at least half of the largest handler's memory, the longest suspended first.
    ///
    /// Memory that differs by less counts as equal: the end of a handler that was used a moment ago would cost its user more
    /// than that difference brings.
    private static func largest(of suspended: [SuspendedMemory]) -> [SuspendedMemory] {
        let most = suspended.map(\.bytes).max() ?? 0
        return suspended.filter { $0.bytes >= most - most / 2 }.sorted {
            ($0.since, $0.id.rawValue) < ($1.since, $1.id.rawValue)
        }
    }

    /// The handler to end when memory is short: the largest, and among several of similar size the longest suspended.
    ///
    /// - Returns: nil without a suspended handler.
    static func nextToEnd(of suspended: [SuspendedMemory]) -> SuspendedMemory? { largest(of: suspended).first }

    /// The reason for which this handler is the next to end, in words.
    func reason(among suspended: [SuspendedMemory]) -> String {
        let similar = Self.largest(of: suspended).count
        if suspended.count == 1 { return "it is the only suspended handler" }
        return similar == 1 ? "it is the largest" : "it is the longest suspended of the \(similar) largest"
    }
}
