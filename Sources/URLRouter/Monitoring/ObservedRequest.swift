internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// The facts about one request, as they are noted on its way. They become an entry when somebody looks.
struct ObservedRequest: Sendable {
    /// The time when the router got the request, in microseconds since 1970.
    let time: UInt64
    var kind: MonitorEntry.Kind
    /// The URL that the caller wants to be opened; nil for a request without one.
    let url: String?
    /// The URLs that are tried instead, which the messages may quote as well.
    let fallback: [String]
    var requestID: String?
    var attempt: UInt32?
    var source: OpenContext.Source?
    /// The URL's way to its handler; nil as long as there is none.
    var choice: Choice?
    var handler: String?
    var verdict: PolicyVerdict?
    var trace: [TracePhase] = []
    var outcome: Outcome?

    /// The facts that the choice of a handler was made from.
    struct Choice: Sendable {
        let url: GenericURL
        let file: FileKind?
        let handler: String?
        let desktopEntry: String?
        let snapshot: RegistrySnapshot
    }

    /// The end of a request.
    struct Outcome: Sendable {
        let microseconds: UInt64
        var way: OpenResult.Way?
        var error: OpenURLError?
    }

    /// The largest size of a message, in bytes.
    private static let messageBytes = 1024
    /// The size of the text in which secrets are looked for. A message may be as large as a call, and the search takes time.
    private static let searchedBytes = 2 * messageBytes
    /// The largest size of the name of a step, and of every other text, in bytes.
    private static let nameBytes = 64
    private static let textBytes = 512

    /// The bytes of the URLs, which are the largest part of a request.
    var urlBytes: Int { fallback.reduce(url?.utf8.count ?? 0) { $0 + $1.utf8.count } }

    /// Returns the request as others see it.
    ///
    /// - Parameter showsQueries: whether URLs have their queries, fragments and parameters.
    func entry(showsQueries: Bool = false) -> MonitorEntry {
        var entry = MonitorEntry(time: time, kind: kind)
        // The choice has the URL with the escapes that a desktop has removed; nearly always, the two are the same.
        let chosen = choice?.url.description
        let urls = [chosen, url == chosen ? nil : url].compactMap(\.self) + fallback
        let redacted = urls.map { RedactedURL($0, showsQueries: showsQueries) }
        lazy var secrets = redacted.map(\.secrets)
        entry.url = url == nil ? nil : redacted.first?.text
        entry.requestID = requestID?.prefix(bytes: Self.textBytes)
        entry.attempt = attempt
        if let source {
            entry.source = (source.application ?? source.executable)?.prefix(bytes: Self.textBytes)
            entry.callerClass = source.callerClass
            entry.pid = source.pid
        }
        entry.handler = handler
        entry.rule = kind == .callback ? "a program is waiting for this URL" : choice?.rule(for: handler)
        entry.decision = verdict.map { .known($0.decision) }
        entry.decisionReason = verdict?.description.prefix(bytes: Self.textBytes)
        entry.trace = trace.map { phase in
            // A handler in another language may write anything into the names of its steps.
            if TracePhase.knownNames.contains(phase.name) { return phase }
            let name = secrets.redacting(phase.name.cut(toBytes: Self.searchedBytes)).prefix(bytes: Self.nameBytes)
            return TracePhase(name, microseconds: phase.microseconds, answer: phase.answer)
        }
        entry.microseconds = outcome?.microseconds
        entry.way = outcome?.way.map { .known($0) }
        entry.error = outcome?.error.map {
            let message = secrets.redacting($0.text.cut(toBytes: Self.searchedBytes)).description
            return RemoteError($0.code.errorName, message.prefix(bytes: Self.messageBytes))
        }
        return entry
    }
}

extension ObservedRequest.Choice {
    /// The reason why a handler gets the URL; nil if the registry does not tell.
    fileprivate func rule(for handler: String?) -> String? {
        var options = OpenOptions()
        options.handler = self.handler
        options.desktopEntry = desktopEntry
        do throws(OpenURLError) {
            return try snapshot.registry.candidates(for: url, file, options).first { $0.claimant.id == handler }?
                .outcome.reason
        } catch {
            // A URL without a scheme has no handler.
            return nil
        }
    }
}
