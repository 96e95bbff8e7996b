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
        try check(expected, claimedBy: sender)
        let state = options.state ?? asked.flatMap { FormParameters($0)["state"] }
        let path = try await callbacks.add(expected, state: state, options, of: caller, sender.account) {
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
        _ options: OpenOptions,
        _ call: RequestCall
    ) async throws(OpenURLError) -> OpenResult? {
        guard !callbacks.claims.isEmpty, options.handler == nil else { return nil }
        let url = try GenericURL(ofCaller: text, options)
        guard callbacks.claims.concern(url) else { return nil }
        return try await callers.counting(call.caller, bytes: call.bytes) { counted async throws(OpenURLError) in
            let sender = try await callers.caller(call.caller, of: counted)
            try permissions.checkCallback(url, from: sender.source)
            try call.stop?.check()
            var details = CallbackDetails()
            details.source = sender.source
            details.sourceApplication = sender.handler?.id.rawValue
            details.activationToken = options.activationToken
            // The claim may have ended during the look-up of the sender.
            guard try callbacks.take(url, details) else { return nil }
            return OpenResult(handler: CallbackInterface.handler, path: .callback, reply: [:], trace: [])
        }
    }

    // MARK: Rights

    /// Checks that a program may claim the URLs of a pattern.
    private func check(_ pattern: CallbackPattern, claimedBy caller: Caller) throws(OpenURLError) {
        guard !pattern.isLoopback else {
            throw OpenURLError(
                .notAllowed,
                "\(pattern) leads to a server on this machine; the program itself has to serve it, as 'openurl callback' does"
            )
        }
        let scheme = try Scheme(ofPattern: pattern)
        let candidates = registry.candidates(for: scheme, host: pattern.host)
        guard !CallbackPattern.schemesOfBrowsers.contains(pattern.scheme),
            !candidates.contains(where: { $0.claimant.handler?.isFixed == true })
        else {
            throw OpenURLError(.notAllowed, "no program can wait for URLs of the scheme \(scheme):")
        }
        let url = PolicyURL(scheme: scheme, host: pattern.host)
        let rule = permissions.rule(for: url, from: caller.source)
        let advice = url.pattern(from: PolicyCaller(caller.source).source).adviceToAllow
        if let rule, rule.decision != .allow {
            let reason = PolicyVerdict(decision: .deny, reason: .rule(rule))
            throw reason.refusal(url.pattern(from: PolicyCaller(caller.source).source), to: caller.source)
        }
        // A rule for every scheme is no word about another program's callbacks.
        if rule?.pattern.scheme != nil { return }
        let claimants = registry.claimants(of: scheme)
        let own = caller.source.application
        if let own, claimants.contains(own) || claimants.contains("\(own).desktop") { return }
        switch caller.callerClass {
        case .user:
            guard let other = claimants.first else { return }
            throw OpenURLError(.notAllowed, "the URLs of \(scheme): belong to \(other); \(advice)")
        case .handler, .sandboxed:
            // RFC 8252 section 7.1 recommends the identifier of the application as its scheme.
            if claimants.isEmpty, own?.lowercased() == scheme.rawValue { return }
            throw OpenURLError(.notAllowed, "this program may wait for URLs of its own schemes only")
        case .remote, .unknown:
            throw OpenURLError(.notAllowed, "this program may wait for no callbacks")
        }
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
