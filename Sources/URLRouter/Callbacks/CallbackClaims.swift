internal import DBus
internal import OpenURLBus
internal import RFC1808

/// The claims of now, and the rules between them: one claim for a pattern, a bounded number for an application, and the narrowest
/// claim for a URL.
struct CallbackClaims {
    private var claims: [ObjectPath: CallbackClaim] = [:]
    private var shares: Shares<String>
    private let limitPerAccount: Int

    init(_ limits: RouterLimits) {
        shares = Shares(limit: limits.callbacks)
        limitPerAccount = limits.callbacksPerAccount
    }

    var isEmpty: Bool { claims.isEmpty }

    /// The handles of all claims.
    var paths: [ObjectPath] { Array(claims.keys) }

    /// The schemes that are claimed.
    var schemes: Set<String> { Set(claims.values.map(\.pattern.scheme)) }

    subscript(path: ObjectPath) -> CallbackClaim? { claims[path] }

    /// Checks that there is room for a claim of an application.
    ///
    /// - Throws: `alreadyClaimed` if another claim has the pattern, `limitsExceeded`.
    func check(_ pattern: CallbackPattern, _ account: String) throws(OpenURLError) {
        guard !claims.values.contains(where: { $0.pattern == pattern }) else {
            throw OpenURLError(
                .alreadyClaimed,
                "a program waits for \(pattern) already; wait until it is done, or end it"
            )
        }
        guard shares[account] < limitPerAccount, shares.refusal(of: account, 1) == nil else {
            throw OpenURLError(.limitsExceeded, "\(shares[account]) callbacks of \(account) are waited for already")
        }
    }

    /// Adds a claim that `check` has accepted.
    mutating func add(_ claim: CallbackClaim) {
        claims[claim.path] = claim
        shares.add(1, to: claim.account)
    }

    /// Removes a claim; returns nil if the claim has ended already.
    mutating func remove(_ path: ObjectPath) -> CallbackClaim? {
        guard let claim = claims.removeValue(forKey: path) else { return nil }
        shares.remove(1, from: claim.account)
        return claim
    }

    /// Whether a claim has a pattern for the URL.
    func concern(_ url: GenericURL) -> Bool {
        claims.values.contains { $0.pattern.matches(url) }
    }

    /// Returns the claim that a URL belongs to; nil if the URL is none of any claim's.
    ///
    /// - Throws: `notAllowed` for a URL of a pattern that does not bring the state, or comes from another program than the claim
    ///   accepts.
    func claim(for url: GenericURL, from source: OpenContext.Source) throws(OpenURLError) -> CallbackClaim? {
        let matching = claims.values.filter { $0.pattern.matches(url) }
        guard !matching.isEmpty else { return nil }
        let narrowest = matching.filter { $0.hasState(of: url) }.min { $0.pattern.isNarrower(than: $1.pattern) }
        guard let narrowest else {
            throw OpenURLError(
                .notAllowed,
                "a program waits for this callback with another state; it does not get the URL"
            )
        }
        guard narrowest.accepts(source) else {
            throw OpenURLError(
                .notAllowed,
                "the program that waits for this callback takes it from other programs only"
            )
        }
        return narrowest
    }
}
