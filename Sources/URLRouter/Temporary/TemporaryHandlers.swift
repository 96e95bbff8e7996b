internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// The handlers that the router has in memory only. They end with the router, so that no crash leaves anything behind.
///
/// The object belongs to the router's actor.
final class TemporaryHandlers {
    /// The claim of a program that runs now.
    struct Claim {
        let handler: Handler
        let program: Handler.Program
        let schemes: [Scheme]
        /// The connection with which the claim ends.
        let owner: BusName
        /// The application that the claim is counted to.
        let account: String
        /// The watch over the owner's connection.
        let watch: ConnectionWatch
    }

    private var registrations: [BundleIdentifier: (handler: Handler, account: String)] = [:]
    private var claims: [BundleIdentifier: Claim] = [:]
    private var shares: Shares<String>

    init(limit: Int) {
        shares = Shares(limit: limit)
    }

    /// Returns the handlers, as they stand beside those that the files declare.
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

    /// The reason for which a handler is there temporarily; nil for any other handler.
    func reason(for id: BundleIdentifier) -> TemporaryRegistration? {
        claims[id] != nil ? .claim : registrations[id] != nil ? .registration : nil
    }

    /// The description of a handler that is registered temporarily.
    func registration(of id: BundleIdentifier) -> Handler? { registrations[id]?.handler }

    // MARK: Registrations

    /// Registers a handler, or registers it again.
    ///
    /// - Throws: `limitsExceeded`.
    func register(_ handler: Handler, _ account: String) throws(OpenURLError) {
        if registrations[handler.id] == nil { try count(account) }
        // The account that has registered the handler first keeps it.
        registrations[handler.id] = (handler, registrations[handler.id]?.account ?? account)
    }

    /// Removes a registration; does nothing without one.
    func unregister(_ id: BundleIdentifier) {
        if let registration = registrations.removeValue(forKey: id) { shares.remove(1, from: registration.account) }
    }

    /// Removes the registrations of handlers that files declare by now.
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
                "\(other), which 'openurl run' started, already claims \(scheme):; end it first"
            )
        }
        try count(claim.account)
        claims[id] = claim
    }

    /// Removes the claim of an owner; returns nil if the claim has ended already.
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
    /// The schemes of the handlers that the router has in memory.
    var temporarySchemes: [Scheme] { handlers.filter(\.isTemporary).flatMap(\.schemes) }
}
