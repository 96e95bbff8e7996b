internal import DBus
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// The callbacks that the router opens for handlers that answer natively (`OUAnswersCallbacks`).
extension URLRouter {
    /// The place that a callback goes to.
    private enum Receiver {
        /// The sender's own handler or application.
        case claimant(String)
        /// The sender's own claim.
        case claim
    }

    /// Returns the callbacks that a URL asks for; nil without one that the sender may have.
    func askedCallbacks(
        in url: GenericURL,
        of sender: Caller,
        _ connection: BusName?,
        for handler: Handler,
        _ hops: UInt32
    ) -> AskedCallbacks? {
        AskedCallbacks(in: url, handler, sender.source, connection, hops) {
            receiver(of: $0, sender.source, connection) != nil
        }
    }

    /// Opens the callback for an outcome, once. The call returns at once.
    func answer(_ asked: AskedCallbacks, _ outcome: Result<OpenResult, OpenURLError>) {
        guard let callback = asked.callback(for: outcome) else { return }
        _ = start { [self] in
            let observed = monitor.observe(.callback, callback.description)
            do throws(OpenURLError) {
                try await open(callback, asked, observed)
                observed?.end(nil)
            } catch {
                observed?.end(error)
                // The caller has its answer already. The URL may hold a secret of the caller.
                let reason = RedactedURL(callback.description).redacting("\(error)")
                log.notice("a callback was not opened: \(reason)", metadata: ["handler": "\(asked.handler.id)"])
            }
        }
    }

    /// Finds the place that a callback goes to.
    ///
    /// A callback goes back to the sender alone. Otherwise a URL could lead a handler's reply to any handler.
    private func receiver(
        of callback: GenericURL,
        _ source: OpenContext.Source,
        _ connection: BusName?
    ) -> Receiver? {
        guard let scheme = Scheme(of: callback) else { return nil }
        let candidates = registry.candidates(for: scheme, host: callback.host.map(String.init))
        guard isClaimable(scheme, candidates) else { return nil }
        if let connection, callbacks.claims.concern(callback, of: connection) { return .claim }
        guard let application = source.application else { return nil }
        let own = candidates.first { ["\(application)", "\(application).desktop"].contains($0.claimant.id) }
        return own.map { .claimant($0.claimant.id) }
    }

    private func open(
        _ callback: GenericURL,
        _ asked: AskedCallbacks,
        _ observed: Observation?
    ) async throws(OpenURLError) {
        var source = OpenContext.Source()
        source.callerClass = .known(.handler)
        source.application = asked.handler.id.rawValue
        observed?.note { [source] in $0.source = source }
        // The sender may have given its scheme up.
        switch receiver(of: callback, asked.source, asked.connection) {
        case nil: throw OpenURLError(.notAllowed, "the sender of the URL no longer has the scheme of the callback")
        case .claim:
            let claim = try callbacks.claims.claim(for: callback, from: source) { mayGet(callback, $0) }
            guard let claim, claim.owner == asked.connection else {
                throw OpenURLError(.notAllowed, "another program waits for the callback")
            }
            try permissions.checkCallback(callback, from: source)
            var details = CallbackDetails()
            details.source = source
            details.sourceApplication = source.application
            callbacks.deliver(callback, details, to: claim)
        case .claimant(let id):
            guard asked.hops < limits.hops else {
                throw OpenURLError(.loopDetected, "\(asked.hops + 1) handlers in a row have opened each other")
            }
            let answerer = Caller(source: source, pid: nil, session: sessions[asked.handler.id])
            var options = OpenOptions()
            options.handler = id
            let destination = try Destination(callback, in: registry, for: options)
            var context = try callers.context(of: answerer, for: registry.receivers(of: destination.claimant))
            context.hops = asked.hops + 1
            context.sourceApplication = source.application
            if let dialog = try permissions.check(destination, from: answerer, options) {
                try await questions.ask(dialog, Questions.Place())
            }
            let delivery = Delivery(url: callback.description, handler: id, options: options, context: context)
            switch await open(delivery, named: requestNames.next(), observed) {
            case .delivered(let result): observed?.end(.success(result))
            case .failed(let error, wasHandedOver: _): throw error
            }
        }
    }
}
