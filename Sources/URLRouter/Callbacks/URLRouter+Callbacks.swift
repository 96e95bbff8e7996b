internal import DBus
internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import SchemeRegistry

/// The programs that wait for a URL to come back, and the way of such a URL.
extension URLRouter {
    /// Performs `Request`: claims the callback, and opens the URL that leads to it.
    ///
    /// - Throws: `OpenURLError`, and `InvalidArgs` if the token is in use.
    func requestCallback(
        _ url: String,
        _ pattern: String,
        _ options: CallbackOptions,
        caller: BusName?
    ) async throws -> ObjectPath {
        let sender = await callers.caller(caller)
        guard let caller else { throw OpenURLError(.notAllowed, "a callback belongs to a connection on a bus") }
        let asked = url.isEmpty ? nil : try GenericURL(ofCaller: url)
        guard
            let expected = try pattern.isEmpty ? asked.map(CallbackPattern.init(redirectOf:)) : CallbackPattern(pattern)
        else { throw OpenURLError(.malformedURL, "there is neither a URL nor a pattern of the callback") }
        try check(expected, claimedBy: sender.source)
        let state = options.state ?? asked.flatMap { FormParameters($0)["state"] }
        let path = try await callbacks.add(expected, state: state, options, of: caller, sender.source) {
            [unowned self] path in assumeIsolated { _ = $0.callbacks.remove(path) }
        }
        if let asked {
            _ = start { [self] in
                // The program gets the handle first.
                await Task.yield()
                var opening = OpenOptions()
                opening.activationToken = options.activationToken
                do throws(OpenURLError) {
                    _ = try await open(asked.description, opening, caller: caller)
                } catch {
                    callbacks.fail(path, .failed, error)
                }
            }
        }
        return path
    }

    /// Performs `Close` of a handle.
    func closeCallback(at path: ObjectPath, caller: BusName?) throws {
        let handle = try handles.handle(at: path, for: caller)
        guard callbacks.claims[path] != nil else {
            throw RemoteError(.unknownObject, "the handle \(path) is not that of a callback")
        }
        handle.cancel()
    }

    /// Sets the way to the desktop. Call it before the name is requested.
    func publishCallbacks(with publisher: @escaping Callbacks.Publisher) {
        callbacks.publisher = publisher
    }

    /// Hands a URL to the program that waits for it.
    ///
    /// - Returns: nil if no program waits for the URL, which then takes its usual way.
    /// - Throws: `notAllowed` for a URL that the program does not accept, and every error before a URL is delivered.
    func answerCallback(
        _ text: String,
        _ call: RequestCall
    ) async throws(OpenURLError) -> OpenResult? {
        guard !callbacks.claims.isEmpty, call.options.handler == nil else { return nil }
        let url = try GenericURL(ofCaller: text, call.options)
        guard isAwaited(url) else { return nil }
        return try await callers.counting(call.caller, bytes: call.bytes) { counted async throws(OpenURLError) in
            let sender = try await callers.caller(call.caller, of: counted)
            try call.stop?.check()
            do throws(OpenURLError) {
                // The claim may have ended during the look-up of the sender.
                let claim = try callbacks.claims.claim(for: url, from: sender.source) { mayGet(url, $0) }
                guard let claim else { return nil }
                call.observed?.note {
                    $0.kind = .callback
                    $0.source = sender.source
                }
                try permissions.checkCallback(url, from: sender.source)
                var details = CallbackDetails()
                details.source = sender.source
                details.sourceApplication = sender.handler?.id.rawValue
                details.activationToken = call.options.activationToken
                callbacks.deliver(url, details, to: claim)
            } catch {
                // A confined program does not learn that somebody waits: its URL goes where it would go without the claim.
                guard !sender.callerClass.isConfined else { return nil }
                throw error
            }
            return OpenResult(handler: CallbackInterface.handler, way: .callback, reply: [:], trace: [])
        }
    }

    // MARK: Rights

    /// Whether a program can wait for URLs of a scheme, or get them as callbacks.
    ///
    /// - Parameter candidates: the handlers and applications that claim the URLs.
    func isClaimable(_ scheme: Scheme, _ candidates: [Candidate]) -> Bool {
        scheme != .reply && !CallbackPattern.schemesOfBrowsers.contains(scheme.rawValue)
            && !candidates.contains { $0.claimant.handler?.isFixed == true }
    }

    /// Whether a URL goes to a program that waits for it, if the URL brings what the program wants.
    func isAwaited(_ url: GenericURL) -> Bool { callbacks.claims.concern(url) { mayGet(url, $0) } }

    /// Ends the claims whose URLs belong to another program since the registry has changed.
    func endLostCallbacks() {
        for claim in callbacks.claims.all {
            do throws(OpenURLError) {
                try check(claim.pattern, claimedBy: claim.receiver)
            } catch {
                callbacks.fail(claim.path, .failed, error)
            }
        }
    }

    /// Whether the receiver of a claim may get a URL of the claim's pattern. The registry and the policy may have changed since the
    /// claim was made, and a URL of the pattern may have a host that belongs to another program.
    func mayGet(_ url: GenericURL, _ claim: CallbackClaim) -> Bool {
        guard let scheme = Scheme(of: url) else { return false }
        do throws(OpenURLError) {
            let winner = registry.winner(for: scheme, host: url.host.map(String.init))
            try check(PolicyURL(url, scheme: scheme), winner?.id, receivedBy: claim.receiver)
            return true
        } catch {
            return false
        }
    }

    /// Checks that a program may claim the URLs of a pattern.
    ///
    /// - Throws: `notAllowed`; for a confined program, with one message for every pattern.
    private func check(
        _ pattern: CallbackPattern,
        claimedBy receiver: OpenContext.Source
    ) throws(OpenURLError) {
        do throws(OpenURLError) {
            guard !pattern.isLoopback else {
                throw OpenURLError(
                    .notAllowed,
                    "\(pattern) leads to a server on this machine; "
                        + "the program itself has to serve it, as 'openurl callback' does"
                )
            }
            let scheme = try Scheme(ofPattern: pattern)
            let candidates = registry.candidates(for: scheme, host: pattern.host)
            guard isClaimable(scheme, candidates) else {
                throw OpenURLError(.notAllowed, "no program can wait for URLs of the scheme \(scheme):")
            }
            let url = PolicyURL(scheme: scheme, host: pattern.host)
            try check(url, candidates.first?.claimant.id, receivedBy: receiver)
        } catch {
            guard error.code == .notAllowed, receiver.callerClass.known?.isConfined != false else { throw error }
            throw Self.foreignURLs
        }
    }

    /// Checks that a program may get URLs as its callbacks: those that would go to the program itself, or to nobody.
    ///
    /// A rule that allows URLs says who may open them, and not who may get them. Only for the programs of the user, which could choose
    /// themselves with `openurl default`, a rule for their class and the scheme is enough.
    ///
    /// - Parameters:
    ///   - url: the scheme and the host of the URLs.
    ///   - winner: the identifier of the handler or application that gets the URLs without the claim; nil if nothing gets them.
    /// - Throws: `notAllowed`.
    private func check(
        _ url: PolicyURL,
        _ winner: String?,
        receivedBy receiver: OpenContext.Source
    ) throws(OpenURLError) {
        let rule = permissions.rule(for: url, from: receiver)
        let pattern = url.pattern(from: PolicyCaller(receiver).source)
        if let rule, rule.decision != .allow {
            throw PolicyVerdict(decision: .deny, reason: .rule(rule)).refusal(pattern, to: receiver)
        }
        let own = receiver.application
        switch receiver.callerClass.known {
        case .user:
            if url.host?.lowercased().hasSuffix(".\(CallbackInterface.probeDomain)") == true { return }
            guard let winner, rule?.pattern.scheme == nil || rule?.pattern.source != .callers(.user) else { return }
            throw OpenURLError(.notAllowed, "the URLs of \(url.scheme): belong to \(winner); \(pattern.adviceToAllow)")
        case .handler, .sandboxed:
            if let winner, let own, [own, "\(own).desktop"].contains(winner) { return }
            // RFC 8252 section 7.1 recommends the identifier of the application as its scheme.
            if winner == nil, own?.lowercased() == url.scheme.rawValue { return }
            throw Self.foreignURLs
        case .remote, .unknown, nil:
            throw OpenURLError(.notAllowed, "this program may wait for no callbacks")
        }
    }

    private static var foreignURLs: OpenURLError {
        OpenURLError(.notAllowed, "this program may wait for URLs of its own schemes only")
    }
}

extension Scheme {
    fileprivate init(ofPattern pattern: CallbackPattern) throws(OpenURLError) {
        do throws(ParseError) {
            try self.init(pattern.scheme)
        } catch {
            throw OpenURLError(.malformedURL, "the scheme of the callback \(error)")
        }
    }
}
