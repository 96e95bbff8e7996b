package import OpenURLBus

extension RouterClient {
    /// Returns the logged requests that the filter selects, the earliest first.
    package func loggedRequests(_ filter: MonitorFilter, limit: Int) throws(CommandFailure) -> [MonitorEntry] {
        var filter = filter
        var entries: [MonitorEntry] = []
        while entries.count < limit {
            filter.limit = UInt32(min(limit - entries.count, MonitorInterface.pageSize))
            let page = try call(MonitorInterface.log, filter, refusal: ExitStatus.failure)
            // A program that poses as a router may repeat a page.
            guard let last = page.last, last.time < filter.before ?? .max else { break }
            entries += page
            filter.before = last.time
        }
        return entries.reversed()
    }

    /// Returns the request that ended last, of the latest ones that the filter selects; nil if there is none, or if the
    /// log cannot be read.
    package func loggedRequest(_ filter: MonitorFilter) -> MonitorEntry? {
        do throws(CommandFailure) {
            return try call(MonitorInterface.log, filter, refusal: ExitStatus.failure).max { $0.end < $1.end }
        } catch {
            return nil
        }
    }
}

extension MonitorEntry {
    /// When the request ended, in microseconds since 1970. The values may come from a program that poses as a router.
    fileprivate var end: UInt64 { time &+ (microseconds ?? 0) }
}
