internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// Callbacks that the router opens for handlers that answer natively (`OUAnswersCallbacks`).
extension Callbacks {
    /// A callback's destination.
    enum Place {
        /// The sender's own handler or application.
        case claimant(String)
        /// A program that waits for it. This is the sender itself, unless another program has a narrower claim.
        case claims([CallbackClaim])
    }

    /// Returns the callbacks that a URL asks for; nil if its sender may have none of them.
    func asked(by request: OpenRequest, of connection: BusName?, _ session: HandlerSession) -> AskedCallbacks? {
        guard session.handler.answersCallbacks, let url = request.destination?.url, url.isXCallback,
            let sender = request.sender
        else { return nil }
        return AskedCallbacks(in: url, session, sender.source, connection, request.context.hops) {
            place(of: $0, sender.source, connection) != nil
        }
    }

    /// Finds out where a callback goes; nil if the sender may not have it.
    ///
    /// A callback goes back only to the sender. Otherwise a URL could lead a handler's reply to any handler.
    func place(of callback: GenericURL, _ source: OpenContext.Source, _ connection: BusName?) -> Place? {
        guard let scheme = Scheme(of: callback) else { return nil }
        let candidates = handlers.registry.candidates(for: scheme, host: callback.host.map(String.init))
        guard Self.isClaimable(scheme, candidates) else { return nil }
        let claims = claims.claims(on: callback)
        if let connection, claims.contains(where: { $0.owner == connection }) { return .claims(claims) }
        guard let application = source.application else { return nil }
        let own = candidates.first { [application, DesktopFileID.text(ofName: application)].contains($0.claimant.id) }
        return own.map { .claimant($0.claimant.id) }
    }
}
