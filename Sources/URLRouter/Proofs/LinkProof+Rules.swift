internal import DBus
internal import OpenURLBus
internal import SchemeRegistry
internal import WebLinks

/// The rules for proofs: how long they count, and when to ask again. All times are in milliseconds since 1970.
extension LinkProof {
    private static let lifetime = UInt64(ProofsInterface.lifetime.milliseconds)
    private static let interval = UInt64(ProofsInterface.interval.milliseconds)
    private static let shortestRetry: UInt64 = 60 * 60_000
    private static let longestRetry: UInt64 = 24 * 60 * 60_000
    /// A time may be this far in the future, because the clock was set.
    private static let tolerance: UInt64 = 24 * 60 * 60_000
    /// Size of the stored reason in bytes.
    static let problemBytes = 512

    /// Whether the fields can be used. A damaged file may have anything.
    var isPossible: Bool {
        do throws(WebHost.ParseError) {
            return try WebHost(host).rawValue == host && PathRules(lines: rules) != nil && failures < 1_000_000
                && handler.utf8.count <= BundleIdentifier.maximumLength && manifest.utf8.count <= 4096
        } catch {
            return false
        }
    }

    /// Returns whether the site's last answer still counts.
    ///
    /// A time in the future counts only if the clock can have been wrong by that much.
    func isConfirmed(at now: UInt64) -> Bool {
        guard let confirmed, confirmed <= now &+ Self.tolerance else { return false }
        return now < confirmed || now - confirmed < Self.lifetime
    }

    /// When to ask the site again; 0 for at once.
    func nextQuestion(at now: UInt64) -> UInt64 {
        guard let asked, asked <= now &+ Self.tolerance else { return 0 }
        guard failures > 0 else { return asked + Self.interval }
        return asked + min(Self.shortestRetry << UInt64(min(failures - 1, 8)), Self.longestRetry)
    }

    /// Whether the site is asked together with others whose time has come: a tenth of its wait before its own time.
    func isDueWithOthers(at now: UInt64) -> Bool {
        let next = nextQuestion(at: now)
        return next <= now + (next - min(asked ?? next, next)) / 10
    }

    /// Notes the result of asking the site.
    ///
    /// - Parameter answer: nil if the program that asks gave no answer.
    mutating func note(_ answer: SiteAnswer?, at now: UInt64) {
        asked = now
        switch answer?.outcome {
        case nil: fail("openurl-proofs gave no answer")
        case .unreachable(let reason): fail(reason)
        case .noFile(let reason): end(reason)
        case .file(let apps):
            guard let app = apps[handler] else { return end("the site's file does not name the handler") }
            if let problem = app.problem { return end(problem) }
            (confirmed, failures, problem) = (now, 0, nil)
            rules = app.rules.lines
            isForAdministratorsOnly = app.isForAdministratorsOnly
        }
    }

    /// Keeps what the site has said before, because a site that cannot be reached may say it again.
    private mutating func fail(_ reason: String) {
        failures = min(failures + 1, 1000)
        problem = reason.cut(toBytes: Self.problemBytes)
    }

    private mutating func end(_ reason: String) {
        (rules, isForAdministratorsOnly, confirmed, failures) = ([], false, nil, 0)
        problem = reason.cut(toBytes: Self.problemBytes)
    }
}
