internal import DBus
internal import OpenURLBus
internal import Translations
internal import UserFiles

/// Reports the URLs in the queue that were abandoned, those that wait after a failure, and whether URLs can be stored.
struct QueueCheck: Check {
    let evidence: Evidence

    /// The maximum number of URLs that are reported one by one.
    private static let limit = 5

    func perform(_ findings: inout Findings) {
        guard let bus = evidence.routerBus else { return }
        var urls: [QueuedURL] = []
        do throws(CallError) {
            var after = ""
            while true {
                let page = try bus.call(QueueInterface.list, on: RouterService.object, after)
                guard let last = page.last, urls.count < QueueInterface.capacity else { break }
                urls += page.filter { evidence.concerns(scheme: $0.url.prefix { $0 != ":" }, handler: $0.handler) }
                after = last.id
            }
        } catch {
            // If the router answers with an error, URLs cannot be stored either.
            let level: Finding.Level = if case .remote = error { .fail } else { .skip }
            return findings.add(
                .router,
                level,
                "queue",
                translated("queue"),
                translated("the router could not list it: \(error)")
            )
        }
        let dead = urls.filter { $0.state == .dead }
        for url in dead.suffix(Self.limit) {
            findings.add(
                .router,
                .warn,
                "dead-letter",
                translated("queue \(url.id)"),
                translated(
                    Int(clamping: url.attempts),
                    one: "\(url.shown) was abandoned after \(url.attempts) attempt: \(url.shownError)",
                    other: "\(url.shown) was abandoned after \(url.attempts) attempts: \(url.shownError)"
                ),
                fix: "openurl queue retry \(url.id)"
            )
        }
        if dead.count > Self.limit {
            let more = dead.count - Self.limit
            let reason = translated(
                more,
                one: "\(more) more URL was abandoned",
                other: "\(more) more URLs were abandoned"
            )
            findings.add(.router, .warn, "dead-letter", translated("queue"), reason, fix: "openurl queue")
        }
        let waiting = urls.filter { $0.state != .dead }
        for url in waiting.filter({ $0.error != nil }).suffix(Self.limit) {
            findings.add(
                .router,
                .warn,
                "failure",
                translated("queue \(url.id)"),
                translated("\(url.shown) is waiting after a failure: \(url.shownError)"),
                fix: "openurl queue retry \(url.id)"
            )
        }
        // The router lists an empty queue if it has not been able to create the file.
        let own = evidence.router?.environment ?? [:]
        let state = BaseDirectories(environment: own.isEmpty ? evidence.files.environment : own).stateHome
        if let obstacle = state.flatMap({ evidence.files.obstacle("\($0)/openurl") }) {
            let reason = translated("no URL can be stored, because \(obstacle)")
            return findings.add(.router, .fail, "queue", translated("queue"), reason)
        }
        guard dead.isEmpty else { return }
        let fact = translated(
            waiting.count,
            one: "\(waiting.count) URL is waiting, and none was abandoned",
            other: "\(waiting.count) URLs are waiting, and none was abandoned"
        )
        findings.add(.router, .ok, "queue", translated("queue"), fact)
    }
}

extension QueuedURL {
    /// The URL without possible secrets.
    fileprivate var shown: String { RedactedURL(url).text }

    /// Why the last attempt failed, without possible secrets.
    fileprivate var shownError: String {
        error.map { RedactedURL(url).redacting($0.message) } ?? translated("no reason was given")
    }
}
