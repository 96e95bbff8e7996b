internal import DBus
internal import Desktop
internal import Glibc
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the router's queue, claims and rules.
extension Examination {
    /// The maximum number of URLs in the queue that are reported one by one.
    private static let letterLimit = 5
    /// The maximum age, in seconds, of the failures in the log that count.
    private static let logTime = 86_400
    /// The maximum number of recent requests that are searched for failures.
    private static let entryLimit = 4 * MonitorInterface.pageSize

    func checkRouterState(_ bus: SessionBus) {
        checkQueue(bus)
        checkLog(bus)
        checkClaims()
        checkPolicy(bus)
        checkProofs(bus)
    }

    private func isConcerned(_ scheme: some StringProtocol, _ handler: String?) -> Bool {
        guard let topic else { return true }
        if let identifier = topic.identifier, handler == identifier { return true }
        return topic.schemes.contains { $0.rawValue == scheme.lowercased() }
    }

    // MARK: The queue

    private func checkQueue(_ bus: SessionBus) {
        var urls: [QueuedURL] = []
        do throws(CallError) {
            var after = ""
            while true {
                let page = try bus.call(QueueInterface.list, on: RouterService.object, after)
                guard let last = page.last, urls.count < QueueInterface.capacity else { break }
                urls += page.filter { isConcerned($0.url.prefix { $0 != ":" }, $0.handler) }
                after = last.id
            }
        } catch {
            // If the router answers with an error, URLs cannot be stored either.
            let level: Finding.Level = if case .remote = error { .fail } else { .skip }
            return add(
                .router,
                level,
                "queue",
                translated("queue"),
                translated("the router could not list it: \(error)")
            )
        }
        let dead = urls.filter { $0.state == .dead }
        for url in dead.suffix(Self.letterLimit) {
            add(
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
        if dead.count > Self.letterLimit {
            let more = dead.count - Self.letterLimit
            let reason = translated(
                more,
                one: "\(more) more URL was abandoned",
                other: "\(more) more URLs were abandoned"
            )
            add(.router, .warn, "dead-letter", translated("queue"), reason, fix: "openurl queue")
        }
        let waiting = urls.filter { $0.state != .dead }
        for url in waiting.filter({ $0.error != nil }).suffix(Self.letterLimit) {
            add(
                .router,
                .warn,
                "failure",
                translated("queue \(url.id)"),
                translated("\(url.shown) is waiting after a failure: \(url.shownError)"),
                fix: "openurl queue retry \(url.id)"
            )
        }
        guard dead.isEmpty else { return }
        let fact = translated(
            waiting.count,
            one: "\(waiting.count) URL is waiting, and none was abandoned",
            other: "\(waiting.count) URLs are waiting, and none was abandoned"
        )
        add(.router, .ok, "queue", translated("queue"), fact)
    }

    // MARK: The log

    /// Reports the handlers and schemes whose latest request in the last day failed, unless the handler has changed
    /// since. Attempts from the queue do not count, because the check of the queue reports them.
    private func checkLog(_ bus: SessionBus) {
        var entries: [MonitorEntry] = []
        do throws(CallError) {
            var filter = MonitorFilter()
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            filter.since = UInt64(clamping: now.tv_sec - Self.logTime) * 1_000_000
            while entries.count < Self.entryLimit {
                let page = try bus.call(MonitorInterface.log, on: RouterService.object, filter)
                guard let last = page.last, last.time < filter.before ?? .max else { break }
                entries += page
                filter.before = last.time
            }
        } catch {
            return add(
                .router,
                .skip,
                "log",
                translated("log"),
                translated("the router could not show its log: \(error)")
            )
        }
        let concerned = entries.filter { entry in
            entry.kind != .known(.attempt) && isConcerned(entry.scheme ?? "", entry.handler)
        }
        let failures = LoggedFailures(concerned, isFault: isFault, changed: files.lastChange(ofHandler:)).entries
        for entry in failures.prefix(Self.letterLimit) {
            let reason =
                entry.error.map { $0.message.isEmpty ? $0.name.rawValue : $0.message }
                ?? translated("no reason was given")
            // The error gives this command if the handler has written something.
            let output = "openurl output \(entry.handler ?? "")"
            add(
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
            add(
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
        temporary.contains { $0.schemes.contains(scheme) }
            || Scheme(checking: scheme).map { !files.registry.claimants(of: $0).isEmpty } ?? false
    }

    // MARK: Claims

    /// Reports the schemes for which programs are waiting. While they wait, the router has an entry for these schemes.
    private func checkClaims() {
        let entry = files.entries.entries.values.first { $0.handler == "org.openurl.callback" }
        let schemes = (entry?.urlSchemes ?? []).filter { isConcerned($0, nil) }.sorted()
        guard !schemes.isEmpty else {
            return add(.router, .ok, "claims", translated("callbacks"), translated("no program is waiting for one"))
        }
        add(
            .router,
            .ok,
            "claims",
            translated("callbacks"),
            translated("programs are waiting for URLs of \(schemes.joined(separator: ", "))")
        )
    }

    // MARK: The policy

    private func checkPolicy(_ bus: SessionBus) {
        do throws(CallError) {
            let (rules, problems) = try bus.call(PolicyInterface.rules, on: RouterService.object, Empty()).values
            for problem in problems {
                let file = problem.split(separator: ":").first.map(String.init)
                let fix = file.map { "\"${EDITOR:-vi}\" \(quotedForShell($0))" }
                add(.router, .warn, "policy", translated("policy"), problem, file: file, fix: fix)
            }
            let denials = rules.filter { $0.decision == .deny && ($0.scheme == "*" || isConcerned($0.scheme, nil)) }
            for rule in denials where topic != nil {
                // A file or a line that cannot be read stands for rules, and its problem is reported above.
                let place = "\(rule.file): line \(rule.line): "
                if rule.line == 0 || problems.contains(where: { $0.hasPrefix(place) }) { continue }
                add(
                    .router,
                    .warn,
                    "policy",
                    translated("policy"),
                    translated("line \(rule.line) denies \(rule.scheme): \(rule.host ?? "") to \(rule.source)"),
                    file: rule.file,
                    fix: rule.isUsers
                        ? "openurl policy reset --source \(quotedForShell(rule.source)) \(pattern(rule))" : nil
                )
            }
            let answers = try bus.call(PolicyInterface.answers, on: RouterService.object, Empty())
            let refusals = answers.filter { $0.decision == .deny && isConcerned($0.scheme, $0.handler) }
            for answer in refusals where topic != nil {
                let target = answer.host.map { "\(answer.scheme)://\($0)" } ?? answer.scheme
                add(
                    .router,
                    .warn,
                    "refusal",
                    translated("policy"),
                    translated("you refused \(target) from \(answer.source)"),
                    fix: "openurl policy forget --source \(quotedForShell(answer.source)) \(quotedForShell(target))"
                )
            }
            if topic == nil || denials.isEmpty && refusals.isEmpty {
                let reason = translated(
                    "rules that deny URLs: \(denials.count); remembered refusals: \(refusals.count)"
                )
                add(.router, .ok, "policy", translated("policy"), reason)
            }
        } catch {
            add(
                .router,
                .skip,
                "policy",
                translated("policy"),
                translated("the router could not list its rules: \(error)")
            )
        }
    }

    private func pattern(_ rule: PolicyRule) -> String {
        quotedForShell(rule.host.map { "\(rule.scheme)://\($0)" } ?? rule.scheme)
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
