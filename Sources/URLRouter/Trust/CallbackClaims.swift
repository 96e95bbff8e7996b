internal import DBus
internal import OpenURLBus
internal import RFC1808

/// The current claims, and the rules between them: one claim for each pattern, a limited number for each application,
/// and the narrowest claim for each URL.
struct CallbackClaims {
    private var claims: [ObjectPath: CallbackClaim] = [:]
    private var shares: Shares<String>
    private let limitPerAccount: Int

    init(_ limits: RouterLimits) {
        shares = Shares(limit: limits.callbacks)
        limitPerAccount = limits.callbacksPerAccount
    }

    var isEmpty: Bool { claims.isEmpty }

    var all: [CallbackClaim] { Array(claims.values) }

    /// Schemes that are claimed.
    var schemes: Set<String> { Set(claims.values.map(\.pattern.scheme)) }

    subscript(path: ObjectPath) -> CallbackClaim? { claims[path] }

    /// Checks that an application may have another claim.
    ///
    /// - Throws: `alreadyClaimed` if another claim has the pattern, `limitsExceeded`.
    func check(_ pattern: CallbackPattern, _ account: String) throws(OpenURLError) {
        guard !claims.values.contains(where: { $0.pattern == pattern }) else {
            throw OpenURLError(
                .alreadyClaimed,
                "another program is already waiting for \(pattern); wait until it is done, or end it"
            )
        }
        guard shares[account] < limitPerAccount, shares.refusal(of: account, 1) == nil else {
            throw OpenURLError(.limitsExceeded, "\(shares[account]) callbacks of \(account) are already expected")
        }
    }

    /// Adds a claim that `check` has accepted.
    mutating func add(_ claim: CallbackClaim) {
        claims[claim.path] = claim
        shares.add(1, to: claim.account)
    }

    /// Removes a claim. Returns nil if it has already ended.
    mutating func remove(_ path: ObjectPath) -> CallbackClaim? {
        guard let claim = claims.removeValue(forKey: path) else { return nil }
        shares.remove(1, from: claim.account)
        return claim
    }

    /// Returns the claims whose pattern matches the URL.
    func claims(on url: GenericURL) -> [CallbackClaim] {
        guard !isEmpty, let scheme = url.lowercasedScheme else { return [] }
        let ofScheme = claims.values.filter { $0.pattern.scheme == scheme }
        if ofScheme.isEmpty { return [] }
        let target = CallbackTarget(url)
        return ofScheme.filter { $0.pattern.matches(target) }
    }

    /// Returns the claim that a URL belongs to; nil if every claim on it has ended.
    ///
    /// - Parameter matching: the claims on the URL whose receivers may get it.
    /// - Throws: `notAllowed` if a URL matches a pattern but lacks the state, or comes from a program that the claim
    ///   does not accept.
    func claim(
        for url: GenericURL,
        from source: OpenContext.Source,
        among matching: [CallbackClaim]
    ) throws(OpenURLError) -> CallbackClaim? {
        let matching = matching.filter { claims[$0.path] != nil }
        guard !matching.isEmpty else { return nil }
        let state = matching.contains { $0.state != nil } ? FormParameters(url)["state"] : nil
        let narrowest = matching.filter { $0.state == nil || $0.state == state }
            .min { $0.pattern.isNarrower(than: $1.pattern) }
        guard let narrowest else {
            throw OpenURLError(
                .notAllowed,
                "the callback's state= is missing or wrong, so the waiting program does not get it"
            )
        }
        guard narrowest.accepts(source) else {
            throw OpenURLError(
                .notAllowed,
                "the program that waits for this callback takes it only from certain other programs"
            )
        }
        return narrowest
    }
}
