internal import Links
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// Finds out where URLs go: first by the rules for links, then by the proofs for links, and otherwise by the registry.
///
/// This belongs to the router's actor.
final class Destinations {
    private let handlers: KnownHandlers
    private let links: LinkRouting
    private let provenLinks: ProvenLinks
    private let files: FileKinds
    private let inboxes: Inboxes

    init(
        _ handlers: KnownHandlers,
        _ links: LinkRouting,
        _ provenLinks: ProvenLinks,
        _ files: FileKinds,
        _ inboxes: Inboxes
    ) {
        self.handlers = handlers
        self.links = links
        self.provenLinks = provenLinks
        self.files = files
        self.inboxes = inboxes
    }

    // MARK: Requests

    /// Returns whether the sender has to be known before the destination of a URL can be found.
    func dependsOnSender(_ url: GenericURL, _ options: OpenOptions) -> Bool {
        Scheme(of: url) == .file || options.handler == nil && links.concern(url) || mayBeProven(url, options)
    }

    /// Finds out who gets a request's URL. If a rule for links says so, the person chooses.
    ///
    /// - Parameter sender: the sender; nil if the destination does not depend on it.
    func destination(
        of url: GenericURL,
        _ request: OpenRequest,
        from sender: Caller?
    ) async throws(OpenURLError) -> Destination {
        var file: FileKind?
        if let sender {
            if let linked = try await linked(url, request, from: sender) { return linked }
            if Scheme(of: url) == .file {
                file = try await files.kind(of: url, request.options, for: request.account, sender.callerClass)
            }
        }
        return try Destination(
            url,
            in: handlers.registry,
            for: request.options,
            file: file,
            isInInbox: isInInbox(url, request)
        )
    }

    /// Finds out where a link goes; returns nil for a URL that neither a rule nor a proof concerns.
    private func linked(
        _ url: GenericURL,
        _ request: OpenRequest,
        from sender: Caller
    ) async throws(OpenURLError) -> Destination? {
        let options = request.options
        var link = url
        if options.handler == nil, links.concern(url) {
            switch try await links.route(of: url, request, from: sender) {
            case .decided(let destination): return destination
            case .undecided(let changed): link = changed
            }
        }
        return try undecided(link, insteadOf: url, options, from: sender, origin: request.origin)
    }

    private func isInInbox(_ url: GenericURL, _ request: OpenRequest) -> Bool {
        guard case .queue(let delivery, _) = request.start, Scheme(of: url) == .file else {
            return request.inbox != nil
        }
        return inboxes.holds(url, of: delivery.options.handler)
    }

    // MARK: Forecasts

    /// Finds out who would get a sender's URL, without asking the person.
    func foreseen(
        _ text: String,
        _ options: OpenOptions,
        from sender: Caller
    ) async throws(OpenURLError) -> Destination {
        let url = try GenericURL(ofCaller: text, desktopEntry: options.desktopEntry)
        if let linked = try foreseenLink(url, options, from: sender).destination { return linked }
        var file: FileKind?
        if Scheme(of: url) == .file {
            file = try await files.kind(of: url, options, for: sender.account, sender.callerClass)
        }
        return try Destination(url, in: handlers.registry, for: options, file: file)
    }

    /// Finds out who would get a link.
    ///
    /// - Returns: the decision of the rules, nil if they do not concern the URL; and the destination, nil if the URL
    ///   takes its usual route, or if the person would be asked.
    /// - Throws: `notAllowed` if a rule drops the link.
    func foreseenLink(
        _ url: GenericURL,
        _ options: OpenOptions,
        from sender: Caller
    ) throws(OpenURLError) -> (decision: LinkDecision?, destination: Destination?) {
        let ruled = try links.foreseen(url, options, from: sender)
        if let ruled, ruled.decision.action != .usual { return ruled }
        let link = ruled?.decision.url ?? url
        return (ruled?.decision, try undecided(link, insteadOf: url, options, from: sender))
    }

    // MARK: Proofs

    /// Finds out where a link goes if the rules choose no program for it; returns nil if it takes its usual route.
    ///
    /// - Parameters:
    ///   - url: the link before the rules changed it.
    ///   - origin: the handler that a stored URL comes from; nil for any other URL.
    private func undecided(
        _ link: GenericURL,
        insteadOf url: GenericURL,
        _ options: OpenOptions,
        from sender: Caller,
        origin: String? = nil
    ) throws(OpenURLError) -> Destination? {
        if mayBeProven(link, options), let handler = provenLinks.handler(for: link, from: sender, origin: origin) {
            return Destination(link, provenFor: handler)
        }
        return link == url ? nil : try Destination(link, in: handlers.registry, for: options)
    }

    /// Returns whether a handler may get a link instead of the browser, whoever sends it.
    private func mayBeProven(_ url: GenericURL, _ options: OpenOptions) -> Bool {
        !options.inBrowser && provenLinks.concern(url)
            && handlers.registry.claimant(wantedBy: options, for: url, nil) == nil
    }
}
