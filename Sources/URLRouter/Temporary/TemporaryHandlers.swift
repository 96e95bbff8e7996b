internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// Handlers that the router has only in memory. They disappear with the router, so a crash leaves nothing behind.
///
/// This belongs to the router's actor.
final class TemporaryHandlers {
    /// The claim of a program that is now running.
    struct Claim {
        let handler: Handler
        let program: Handler.Program
        let schemes: [Scheme]
        /// The connection with which the claim ends.
        let owner: BusName
        /// The application towards which the claim counts.
        let account: String
        /// Watches the owner's connection.
        let watch: ConnectionWatch
    }

    private var registrations: [BundleIdentifier: (handler: Handler, account: String)] = [:]
    private var claims: [BundleIdentifier: Claim] = [:]
    private var shares: Shares<String>

    init(limit: Int) {
        shares = Shares(limit: limit)
    }

    /// Returns the temporary handlers, given the handlers that files declare.
    func handlers(apartFrom declared: Registry) -> [TemporaryHandler] {
        let registered = registrations.filter { claims[$0.key] == nil }
            .map { TemporaryHandler(registering: $0.value.handler) }
        return registered
            + claims.map { id, claim in
                let other = declared[id] ?? registrations[id]?.handler
                return TemporaryHandler(
                    running: claim.handler,
                    claim.program,
                    claiming: claim.schemes,
                    apartFrom: other
                )
            }
    }

    /// Returns why a handler is registered temporarily; nil for any other handler.
    func reason(for id: BundleIdentifier) -> TemporaryRegistration? {
        claims[id] != nil ? .claim : registrations[id] != nil ? .registration : nil
    }

    /// Returns the description of a handler that is registered temporarily.
    func registration(of id: BundleIdentifier) -> Handler? { registrations[id]?.handler }

    // MARK: Registrations

    /// Registers a handler, or registers it again.
    ///
    /// - Throws: `limitsExceeded`.
    func register(_ handler: Handler, _ account: String) throws(OpenURLError) {
        if registrations[handler.id] == nil { try count(account) }
        // If the handler is registered again, it stays with the first account.
        registrations[handler.id] = (handler, registrations[handler.id]?.account ?? account)
    }

    /// Removes a registration, if there is one.
    func unregister(_ id: BundleIdentifier) {
        if let registration = registrations.removeValue(forKey: id) { shares.remove(1, from: registration.account) }
    }

    /// Removes the registrations of handlers that files now declare.
    func forgetRegistrations(of handlers: [Handler]) {
        guard !registrations.isEmpty else { return }
        for handler in handlers { unregister(handler.id) }
    }

    // MARK: Claims

    /// Adds a claim.
    ///
    /// - Throws: `alreadyClaimed`, `limitsExceeded`.
    func add(_ claim: Claim) throws(OpenURLError) {
        let id = claim.handler.id
        guard claims[id] == nil else {
            throw OpenURLError(.alreadyClaimed, "another 'openurl run' is already running \(id); end it first")
        }
        for scheme in claim.schemes {
            guard let other = claims.first(where: { $0.value.schemes.contains(scheme) })?.key else { continue }
            throw OpenURLError(
                .alreadyClaimed,
                "\(other), which 'openurl run' started, already claims the scheme \(scheme); end it first"
            )
        }
        try count(claim.account)
        claims[id] = claim
    }

    /// Removes an owner's claim; returns nil if it has already ended.
    func removeClaim(of id: BundleIdentifier, _ owner: BusName) -> Claim? {
        guard claims[id]?.owner == owner, let claim = claims.removeValue(forKey: id) else { return nil }
        shares.remove(1, from: claim.account)
        claim.watch.end()
        return claim
    }

    private func count(_ account: String) throws(OpenURLError) {
        guard shares.refusal(of: account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(shares[account]) handlers of \(account) are already registered temporarily; unregister one, or end "
                    + "one that 'openurl run' started"
            )
        }
        shares.add(1, to: account)
    }
}

extension Registry {
    /// The schemes of the handlers that the router has only in memory.
    var temporarySchemes: [Scheme] { handlers.filter(\.isTemporary).flatMap(\.schemes) }
}
