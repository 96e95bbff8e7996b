internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// The facts about one request, which are collected while it is on its way. They become an entry only when the request
/// is shown.
struct ObservedRequest: Sendable {
    /// When the router got the request, in microseconds since 1970.
    let time: UInt64
    var kind: MonitorEntry.Kind
    /// The URL that the caller wants to open; nil for a request without one.
    let url: String?
    /// The URLs to try instead. Messages may quote these as well.
    let fallback: [String]
    var requestID: String?
    var attempt: UInt32?
    var source: OpenContext.Source?
    /// The choice of a handler; nil until it has been made.
    var choice: Choice?
    var handler: String?
    var verdict: PolicyVerdict?
    var trace: [TracePhase] = []
    var outcome: Outcome?

    /// The facts from which the handler was chosen.
    struct Choice: Sendable {
        let url: GenericURL
        let file: FileKind?
        let handler: String?
        let desktopEntry: String?
        let snapshot: RegistrySnapshot
    }

    /// A request's end.
    struct Outcome: Sendable {
        let microseconds: UInt64
        var way: OpenResult.Way?
        var error: OpenURLError?
    }

    /// Maximum size of a message, in bytes.
    private static let messageBytes = 1024
    /// Maximum size of the text that is searched for secrets, in bytes. A message may be as large as a call, and a
    /// search takes time.
    private static let searchedBytes = 2 * messageBytes
    /// Maximum size of a step's name, and of every other string, in bytes.
    private static let nameBytes = 64
    private static let textBytes = 512

    /// Size in bytes of the URLs, which are the largest part of a request.
    var urlBytes: Int { fallback.reduce(url?.utf8.count ?? 0) { $0 + $1.utf8.count } }

    /// Returns the request as others see it.
    ///
    /// - Parameters:
    ///   - showsQueries: Whether URLs keep their queries, fragments and parameters.
    ///   - reasons: The reasons for the choices of several requests.
    func entry(showsQueries: Bool = false, _ reasons: inout ChoiceReasons) -> MonitorEntry {
        var entry = MonitorEntry(time: time, kind: kind)
        var redacted: [RedactedURL] = []
        // This URL has the escapes that a desktop removed. The two URLs are nearly always the same.
        if let choice { redacted.append(RedactedURL(choice.url, showsQueries: showsQueries)) }
        if let url, url != choice?.url.description { redacted.append(RedactedURL(url, showsQueries: showsQueries)) }
        for url in fallback { redacted.append(RedactedURL(url, showsQueries: showsQueries)) }
        lazy var secrets = redacted.map(\.secrets)
        entry.url = url == nil ? nil : redacted.first?.text
        entry.requestID = requestID?.prefix(bytes: Self.textBytes)
        entry.attempt = attempt
        if let source {
            entry.source = (source.application ?? source.place ?? source.executable)?.prefix(bytes: Self.textBytes)
            entry.callerClass = source.callerClass
            entry.pid = source.pid
        }
        entry.handler = handler
        entry.rule =
            kind == .callback
            ? "a program is waiting for this URL" : choice.flatMap { reasons.reason(for: $0, handler) }
        entry.decision = verdict.map { .known($0.decision) }
        entry.decisionReason = verdict?.description.prefix(bytes: Self.textBytes)
        entry.trace = trace.map { phase in
            // A handler that is written in another language may put anything into its steps' names.
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

/// Finds out why handlers were chosen.
///
/// It remembers the latest reason, because consecutive requests mostly go to the same handler.
struct ChoiceReasons {
    private struct Reason {
        let choice: ObservedRequest.Choice
        let handler: String?
        let text: String?
    }

    private var latest: Reason?

    /// Returns why a handler gets the URL; nil if the registry does not know the reason.
    mutating func reason(for choice: ObservedRequest.Choice, _ handler: String?) -> String? {
        if let latest, latest.handler == handler, latest.choice.hasReason(of: choice) { return latest.text }
        let text = choice.reason(for: handler)
        latest = Reason(choice: choice, handler: handler, text: text)
        return text
    }
}

extension ObservedRequest.Choice {
    /// Whether two choices were made from the same facts, apart from the parts of the URLs that do not affect the
    /// choice.
    fileprivate func hasReason(of other: Self) -> Bool {
        snapshot === other.snapshot && handler == other.handler && desktopEntry == other.desktopEntry
            && file == other.file && url.scheme == other.url.scheme && url.host == other.url.host
    }

    fileprivate func reason(for handler: String?) -> String? {
        var options = OpenOptions()
        options.handler = self.handler
        options.desktopEntry = desktopEntry
        do throws(OpenURLError) {
            let registry = snapshot.registry
            return registry.resolved(
                try registry.candidates(for: url, file, options),
                for: try Scheme(ofURL: url)
            ).first { $0.claimant.id == handler }?.outcome.reason
        } catch {
            // Without a scheme, a URL has no handler.
            return nil
        }
    }
}
