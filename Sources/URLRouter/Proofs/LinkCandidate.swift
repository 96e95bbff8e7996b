internal import OpenURLBus
internal import SchemeRegistry
internal import WebLinks

/// A handler that claims a link, and whether it may have it.
struct LinkCandidate {
    let handler: Handler
    /// The proof; `nothing` if the handler does not get the link.
    let origin: LinkProof.Origin
    /// The number of characters of the narrowest pattern that gives the link to the handler, without its wildcards.
    let length: Int
    /// Why the handler may have the link, or why not, in words.
    let reason: String

    /// Creates the candidate for a handler that claims the host.
    ///
    /// - Parameters:
    ///   - proof: the stored proof of the handler for the host; nil for none.
    ///   - onlyDecisions: whether the person must have allowed it, because earlier decisions are lost.
    ///   - now: the time, in milliseconds since 1970.
    init(_ handler: Handler, _ link: WebLink, _ proof: LinkProof?, onlyDecisions: Bool, at now: UInt64) {
        self.handler = handler
        let claims = handler.associatedDomains.filter { $0.host == link.host }.map(\.pattern)
        let claimed = claims.filter { $0.matches(link.path) }.map(\.length).max()
        let result = Self.judge(handler, link, proof, onlyDecisions, claimed, now)
        (origin, length, reason) = (result.origin, max(result.length, claimed ?? 0), result.reason)
    }

    private static func judge(
        _ handler: Handler,
        _ link: WebLink,
        _ proof: LinkProof?,
        _ onlyDecisions: Bool,
        _ claimed: Int?,
        _ now: UInt64
    ) -> (origin: LinkProof.Origin, length: Int, reason: String) {
        let host = link.host
        guard claimed != nil else { return (.nothing, 0, "its manifest does not claim this path of \(host)") }
        // A proof for another manifest says nothing about this one.
        let proof = proof?.manifest == handler.manifestPath ? proof : nil
        switch proof?.decision {
        case .deny: return (.nothing, 0, "'openurl links revoke' has given the links to \(host) back to the browser")
        case .allow: return (.person, 0, "'openurl links allow' gives it the links to \(host)")
        case nil: break
        }
        if onlyDecisions {
            return (.nothing, 0, "earlier decisions are lost; 'openurl links allow \(host) \(handler.id)' allows it")
        }
        if handler.isInstalledByAdministrator {
            return (.administrator, 0, "the administrator has installed it, and it claims the links to \(host)")
        }
        let advice = "'openurl links allow \(host) \(handler.id)' allows it"
        guard let proof, proof.isConfirmed(at: now), let rules = PathRules(lines: proof.rules) else {
            let problem =
                proof?.problem
                ?? (proof?.confirmed == nil ? "\(host) has not been asked yet" : "the answer of \(host) is too old")
            return (.nothing, 0, "there is no proof: \(problem); \(advice)")
        }
        guard !proof.isForAdministratorsOnly else {
            return (
                .nothing, 0, "\(host) gives its links only to a handler that the administrator has installed; \(advice)"
            )
        }
        guard let pattern = rules.pattern(for: link.path) else {
            return (.nothing, 0, "the file of \(host) does not give it this path")
        }
        return (.site, pattern.length, "the file of \(host) gives it \(pattern)")
    }

    /// Returns whether one candidate comes before another: a handler that the person has chosen, then the narrowest
    /// pattern. For the rest, the order of the registry counts.
    static func precedes(_ left: LinkCandidate, _ right: LinkCandidate) -> Bool {
        guard left.rank == right.rank else { return left.rank < right.rank }
        return left.length > right.length
    }

    private var rank: Int {
        switch origin {
        case .person: 0
        case .administrator, .site: 1
        case .nothing: 2
        }
    }
}
