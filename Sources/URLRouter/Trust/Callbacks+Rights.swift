internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import SchemeRegistry

/// Decides which programs may wait for a URL.
extension Callbacks {
    /// Returns whether a program can wait for URLs with a scheme, or get them as callbacks.
    ///
    /// - Parameter candidates: the handlers and applications that claim the URLs.
    static func isClaimable(_ scheme: Scheme, _ candidates: [Candidate]) -> Bool {
        scheme != .reply && !CallbackPattern.schemesOfBrowsers.contains(scheme.rawValue)
            && !candidates.contains { $0.claimant.handler?.isFixed == true }
    }

    /// Ends the claims on URLs that belong to another program now that the registry has changed.
    func endLost() {
        for claim in claims.all {
            do throws(OpenURLError) {
                try check(claim.pattern, claimedBy: claim.receiver)
            } catch {
                fail(claim.path, .failed, error)
            }
        }
    }

    /// Returns whether a claim's receiver may get a URL that matches its pattern. The registry and the policy may have
    /// changed since the claim was made, and the URL may have a host that belongs to another program.
    func mayGet(_ url: GenericURL, _ claim: CallbackClaim) -> Bool {
        guard let scheme = Scheme(of: url) else { return false }
        do throws(OpenURLError) {
            let winner = handlers.registry.winner(for: scheme, host: url.host.map(String.init))
            let owner = owner(of: scheme, winner?.id, for: claim.receiver)
            try permissions.check(PolicyURL(url, scheme: scheme), of: owner, receivedBy: claim.receiver)
            return true
        } catch {
            return false
        }
    }

    /// Returns the identifier of the program to which URLs belong from the point of view of a receiver; nil if there is
    /// none.
    ///
    /// A program on another machine or in a container gets no URLs of a scheme that a program has here, even if it has
    /// the scheme only for other hosts.
    private func owner(of scheme: Scheme, _ winner: String?, for receiver: OpenContext.Source) -> String? {
        guard winner == nil, receiver.callerClass == .known(.remote) else { return winner }
        return handlers.registry.claimants(of: scheme).first
    }

    /// Checks that a program may claim the URLs that match a pattern.
    ///
    /// - Throws: `notAllowed`; for a confined program, with the same message for every pattern.
    func check(
        _ pattern: CallbackPattern,
        claimedBy receiver: OpenContext.Source
    ) throws(OpenURLError) {
        do throws(OpenURLError) {
            guard !pattern.isLoopback else {
                throw OpenURLError(
                    .notAllowed,
                    "\(pattern) leads to a server on this machine; "
                        + "the program itself must serve it, as 'openurl callback' does"
                )
            }
            let scheme = try Scheme(ofPattern: pattern)
            let candidates = handlers.registry.candidates(for: scheme, host: pattern.host)
            guard Self.isClaimable(scheme, candidates) else {
                throw OpenURLError(.notAllowed, "no program can wait for URLs of the scheme \(scheme):")
            }
            let url = PolicyURL(scheme: scheme, host: pattern.host)
            let owner = owner(of: scheme, candidates.first?.claimant.id, for: receiver)
            try permissions.check(url, of: owner, receivedBy: receiver)
        } catch {
            guard error.code == .notAllowed, receiver.callerClass.known?.isConfined != false else { throw error }
            throw Permissions.foreignURLs
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
