internal import Desktop
internal import OpenURLBus
internal import Policy
internal import SchemeRegistry

/// Decides, by one rule for both callbacks and claims on schemes, whether a program may get URLs that would otherwise
/// go elsewhere.
extension Permissions {
    /// Checks that a program may get URLs. It may if they would otherwise go to the program itself, or to nobody.
    ///
    /// A rule that allows URLs says who may open them, but not who may get them. A rule for the class and the scheme is
    /// enough only for the user's programs, which could make themselves the default with `openurl default`.
    ///
    /// - Parameters:
    ///   - url: the scheme and the host of the URLs.
    ///   - winner: the identifier of the handler or application that otherwise gets the URLs; nil if nothing gets them.
    /// - Throws: `notAllowed`.
    func check(
        _ url: PolicyURL,
        of winner: String?,
        receivedBy receiver: OpenContext.Source
    ) throws(OpenURLError) {
        let rule = rule(for: url, from: receiver)
        let pattern = url.pattern(from: PolicyCaller(receiver).source)
        if let rule, rule.decision != .allow {
            throw refusal(PolicyVerdict(decision: .deny, reason: .rule(rule)), of: url, to: receiver)
        }
        let own = receiver.application
        switch receiver.callerClass.known {
        case .user:
            if url.host?.lowercased().hasSuffix(".\(CallbackInterface.probeDomain)") == true { return }
            guard let winner, rule?.pattern.scheme == nil || rule?.pattern.source != .callers(.user) else { return }
            throw OpenURLError(.notAllowed, "the URLs of \(url.scheme): belong to \(winner); \(pattern.adviceToAllow)")
        case .handler, .sandboxed:
            if let winner, let own, [own, DesktopFileID.text(ofName: own)].contains(winner) { return }
            // For such schemes, RFC 8252 section 7.1 recommends the application's identifier.
            if winner == nil, own?.lowercased() == url.scheme.rawValue { return }
            throw Self.foreignURLs
        case .remote:
            // `Relays` makes sure that the URLs answer the program's own sign-in.
            if winner == nil { return }
            throw Self.foreignURLs
        case .unknown, nil:
            throw OpenURLError(.notAllowed, "this program may not wait for callbacks")
        }
    }

    /// The error for confined programs. It does not reveal whether there is a claimant.
    static var foreignURLs: OpenURLError {
        OpenURLError(.notAllowed, "this program may wait only for URLs of its own schemes")
    }
}
