internal import OpenURLBus

/// The latest requests in the router's log that failed, without those that no longer matter.
struct LoggedFailures {
    /// The failures, the newest first.
    let entries: [MonitorEntry]

    /// Finds the failures. A later request for the same handler or with the same scheme replaces an earlier one.
    ///
    /// - Parameters:
    ///   - log: the requests, the newest first.
    ///   - isFault: returns whether a request failed for a reason that may still be there.
    ///   - changed: returns when a handler's manifest or program was last changed, in microseconds since 1970; nil if
    ///     this is not known. That change may have fixed an earlier failure of the handler.
    init(_ log: [MonitorEntry], isFault: (MonitorEntry) -> Bool, changed: (_ handler: String) -> UInt64?) {
        var seen: Set<String> = []
        entries = log.filter { entry in
            let keys = [entry.handler, entry.scheme.map { "\($0):" }].compactMap(\.self)
            let isLatest = seen.isDisjoint(with: keys)
            seen.formUnion(keys)
            guard isLatest, isFault(entry) else { return false }
            return !(entry.handler.flatMap(changed).map { $0 > entry.time } ?? false)
        }
    }
}
