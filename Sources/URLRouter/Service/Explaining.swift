internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// What would become of a URL, without doing it.
extension URLRouter {
    /// Decides as ``open(_:_:caller:)`` does, up to the point where something would be started or sent.
    ///
    /// - Throws: ``OpenURLError`` for a malformed URL only; why a URL would not be opened is part of the explanation.
    func explain(_ text: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> Explanation {
        let url = try parse(text)
        var explanation = Explanation(url: text)
        explanation.parts = url.explainedParts
        let sender = sendingSession(await source(of: caller))
        do throws(OpenURLError) {
            let scheme = try scheme(of: url)
            let host = url.host.map(String.init)
            explanation.candidates = registry.candidates(for: scheme, host: host, asking: options.handler)
                .map(Explanation.Candidate.init)
            let claimant = try claimant(for: scheme, host: host, options)
            explanation.handler = claimant.id
            explanation.transport = .known(HandlerKind(claimant.kind))
            if case .handler(let handler) = claimant {
                explanation.state = .known(state(of: handler.id))
                explanation.allowedSources = handler.manifest.allowedSources?.map(\.rawValue)
                try checkSource(sender?.handler.id, mayOpen: handler)
            }
        } catch {
            guard error.code != .malformedURL else { throw error }
            explanation.error = (error.code.errorName.rawValue, error.message)
        }
        return explanation
    }

    /// - Throws: ``OpenURLError`` where the handler takes nothing from the sender; `nil` is one that is no handler.
    func checkSource(_ sender: BundleIdentifier?, mayOpen handler: Handler) throws(OpenURLError) {
        guard let allowed = handler.manifest.allowedSources else { return }
        guard let sender, allowed.contains(where: { $0.matches(sender) }) else {
            throw OpenURLError(
                .notAllowed,
                "\(handler.id) takes no URLs from \(sender?.rawValue ?? "this program")"
            )
        }
    }
}

extension GenericURL {
    fileprivate var explainedParts: [String: String] {
        var parts = ["path": String(opaquePart ?? path)]
        parts["scheme"] = scheme
        parts["user"] = user.map(String.init)
        parts["host"] = host.map(String.init)
        parts["port"] = port.map { String($0) }
        parts["parameters"] = parameters.map(String.init)
        parts["query"] = query.map(String.init)
        parts["fragment"] = fragment.map(String.init)
        return parts
    }
}

extension Explanation.Candidate {
    fileprivate init(_ candidate: Candidate) {
        self.init(
            id: candidate.claimant.id,
            kind: .known(HandlerKind(candidate.claimant.kind)),
            host: candidate.host.map(\.description),
            wins: candidate.outcome.wins,
            reason: candidate.outcome.reason
        )
    }
}

extension HandlerKind {
    /// Creates the contract's kind from the registry's kind.
    init(_ kind: Handler.Kind) {
        switch kind {
        case .native: self = .native
        case .freedesktop: self = .freedesktop
        case .exec: self = .exec
        }
    }
}
