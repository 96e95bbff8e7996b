internal import DBus
internal import Glibc
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations

/// Reports the handlers and schemes whose latest request in the last day failed, unless the handler has changed since.
///
/// Attempts from the queue do not count, because the check of the queue reports them.
struct LogCheck: Check {
    let evidence: Evidence

    /// The maximum number of failures that are reported.
    private static let failureLimit = 5

    /// The maximum age, in seconds, of the failures that count.
    private static let maximumAge = 86_400

    /// The maximum number of recent requests that are searched for failures.
    private static let entryLimit = 4 * MonitorInterface.pageSize

    func perform(_ findings: inout Findings) {
        guard let bus = evidence.routerBus else { return }
        var entries: [MonitorEntry] = []
        do throws(CallError) {
            var filter = MonitorFilter()
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            filter.since = UInt64(clamping: now.tv_sec - Self.maximumAge) * 1_000_000
            while entries.count < Self.entryLimit {
                let page = try bus.call(MonitorInterface.log, on: RouterService.object, filter)
                guard let last = page.last, last.time < filter.before ?? .max else { break }
                entries += page
                filter.before = last.time
            }
        } catch {
            return findings.add(
                .router,
                .skip,
                "log",
                translated("log"),
                translated("the router could not show its log: \(error)")
            )
        }
        let concerned = entries.filter { entry in
            entry.kind != .known(.attempt) && evidence.concerns(scheme: entry.scheme ?? "", handler: entry.handler)
        }
        let failures = LoggedFailures(concerned, isFault: isFault, changed: files.lastChange(ofHandler:)).entries
        for entry in failures.prefix(Self.failureLimit) {
            let reason =
                entry.error.map { $0.message.isEmpty ? $0.name.rawValue : $0.message }
                ?? translated("no reason was given")
            // The error gives this command if the handler has written something.
            let output = "openurl output \(entry.handler ?? "")"
            findings.add(
                .router,
                .warn,
                "last-failure",
                entry.handler ?? entry.url ?? translated("log"),
                entry.url.map { translated("the latest request ('\($0)') failed: \(reason)") }
                    ?? translated("the latest request failed: \(reason)"),
                fix: reason.contains("'\(output)'") ? output : "openurl log --failed"
            )
        }
        if failures.isEmpty {
            findings.add(
                .router,
                .ok,
                "log",
                translated("log"),
                translated("the latest requests did not fail, except where the handler declined them")
            )
        }
    }

    /// Returns whether a request failed for a reason that may still be there, and that is not the handler's own answer.
    private func isFault(_ entry: MonitorEntry) -> Bool {
        switch entry.error?.name {
        case nil, OpenURLError.Code.cancelled.errorName, OpenURLError.Code.declined.errorName: false
        case OpenURLError.Code.noHandler.errorName: !(entry.scheme.map(hasHandler) ?? false)
        default: true
        }
    }

    private func hasHandler(_ scheme: String) -> Bool {
        evidence.temporary.contains { $0.schemes.contains(scheme) }
            || Scheme(checking: scheme).map { !files.registry.claimants(of: $0).isEmpty } ?? false
    }
}
