internal import DBus
internal import Desktop
internal import Links
internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import SchemeRegistry

/// Finds out what the router would do with a URL, without opening it.
///
/// This belongs to the router's actor.
final class Explainer {
    private let handlers: KnownHandlers
    private let callers: Callers
    private let callbacks: Callbacks
    private let files: FileKinds
    private let permissions: Permissions
    private let destinations: Destinations
    private let provenLinks: ProvenLinks
    private let lifecycle: HandlerLifecycle
    private let resources: ResourceFinder?

    /// Returns the localised names and the launch images of the handler with an identifier; nil if there is none.
    typealias ResourceFinder = @Sendable (_ id: String) async -> BundleResources?

    init(
        _ handlers: KnownHandlers,
        _ callers: Callers,
        _ callbacks: Callbacks,
        _ files: FileKinds,
        _ permissions: Permissions,
        _ destinations: Destinations,
        _ provenLinks: ProvenLinks,
        _ lifecycle: HandlerLifecycle,
        _ resources: ResourceFinder?
    ) {
        self.handlers = handlers
        self.callers = callers
        self.callbacks = callbacks
        self.files = files
        self.permissions = permissions
        self.destinations = destinations
        self.provenLinks = provenLinks
        self.lifecycle = lifecycle
        self.resources = resources
    }

    /// Returns whether a URL has a handler that the caller may reach.
    ///
    /// A handler or a sandboxed application may ask only about schemes that the manifest with the same identifier lists
    /// (`LSApplicationQueriesSchemes`). For any other scheme, the answer is no, so that the caller does not learn what
    /// is installed.
    func canOpen(_ text: String, caller name: BusName?) async throws(OpenURLError) -> Bool {
        let url = try GenericURL(ofCaller: text)
        // A handler may ask this before it answers a call. The answer reveals nothing about calls.
        if Scheme(of: url) == .reply { return true }
        let caller = await callers.caller(name)
        guard mayAsk(caller, about: url) else { return false }
        do throws(OpenURLError) {
            if try isAwaited(url, from: caller) { return true }
        } catch {
            return false
        }
        let destination: Destination
        do throws(OpenURLError) {
            destination = try await destinations.foreseen(text, OpenOptions(), from: caller)
        } catch {
            // The answer must not reveal whether there is a rule.
            guard error.code == .noHandler || error.code == .notAllowed else { throw error }
            return false
        }
        do throws(OpenURLError) {
            try destination.claimant.handler?.checkAccess(of: caller.handler?.id, caller.callerClass)
            return permissions.verdict(on: destination, from: caller.source).decision != .deny
        } catch {
            return false
        }
    }

    /// Decides in the same way as ``Opener/open(_:)``, up to the point where that method would start a process or send
    /// a message.
    ///
    /// - Throws: only `malformedURL` or `limitsExceeded` for a string that is not a URL, and `notAllowed` for a caller
    ///   that may not ask about the scheme, or about other senders. Every other reason not to open the URL is part of
    ///   the explanation.
    func explain(_ text: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> Explanation {
        let url = try GenericURL(ofCaller: text, desktopEntry: options.desktopEntry)
        var explanation = Explanation(url: url.description)
        explanation.parts = url.explainedParts
        // The caller decides what the explanation may reveal, and the sender what happens to the URL.
        let caller = await callers.caller(caller)
        guard mayAsk(caller, about: url) else {
            throw OpenURLError(
                .notAllowed,
                "this program may ask only about the schemes in its manifest's LSApplicationQueriesSchemes"
            )
        }
        let sender = try sender(options, explainedTo: caller)
        // A sender on another host may be denied before anything is looked up.
        let denial =
            sender.callerClass == .remote
            ? permissions.schemeVerdict(of: url, from: sender.source, namingHandler: options.handler != nil) : nil
        do throws(OpenURLError) {
            try await complete(&explanation, url, options, from: sender, for: caller)
        } catch {
            guard error.code != .malformedURL else { throw error }
            explanation.fail(with: caller.callerClass.isConfined ? error.forConfinedCallers : error)
        }
        if let denial {
            explanation.add(denial, for: caller)
            explanation.fail(with: permissions.refusal(denial, of: url.policyURL, to: sender.source))
        }
        return explanation
    }

    /// Adds the receiver of a URL, the candidates and the decision.
    ///
    /// - Throws: the reason not to open the URL.
    private func complete(
        _ explanation: inout Explanation,
        _ url: GenericURL,
        _ options: OpenOptions,
        from sender: Caller,
        for caller: Caller
    ) async throws(OpenURLError) {
        let isReply = Scheme(of: url) == .reply
        let isConfined = caller.callerClass.isConfined
        let isCallback = try options.handler == nil ? isAwaited(url, from: sender) : false
        if isReply || isCallback {
            explanation.handler = CallbackInterface.handler
            let reason =
                isReply ? "the router takes the answers to its calls" : "a program is waiting for this callback"
            explanation.candidates = [
                Explanation.Candidate(
                    id: CallbackInterface.handler,
                    kind: .known(.native),
                    host: nil,
                    wins: true,
                    reason: reason
                )
            ]
            return
        }
        var file: FileKind?
        if Scheme(of: url) == .file {
            file = try await files.kind(of: url, options, for: caller.account, sender.callerClass)
        }
        explanation.contentType = file?.type.rawValue
        let candidates = handlers.registry.resolved(
            try handlers.registry.candidates(for: url, file, options),
            for: try Scheme(ofURL: url)
        )
        .filter { $0.claimant.isShown(to: caller) }
        explanation.candidates = candidates.map { candidate in
            var explained = Explanation.Candidate(candidate)
            if isConfined { explained.reason = candidate.outcome.namelessReason }
            if let handler = candidate.claimant.handler, handlers.temporary.reason(for: handler.id) == .registration {
                explained.reason += "; it is registered until the router exits"
            }
            return explained
        }
        let (decision, linked) = try destinations.foreseenLink(url, options, from: sender)
        explanation.add(decision, linked, caller)
        if explanation.linkRule != nil, linked == nil { return }
        explanation.add(
            provenLinks.candidates(for: decision?.url ?? url)
                .filter { Claimant.handler($0.handler).isShown(to: caller) },
            linked?.isProven == true ? linked?.claimant.handler : nil,
            hasRule: decision?.rule != nil
        )
        let destination =
            if let linked { linked } else { try Destination(url, in: handlers.registry, for: options, file: file) }
        let claimant = destination.claimant
        guard claimant.isShown(to: caller) else { throw OpenURLError.noReachableHandler }
        explanation.handler = claimant.id
        explanation.transport = .known(HandlerKind(claimant.kind))
        if case .handler(let handler) = claimant {
            if let resources = await resources?(handler.id.rawValue) {
                explanation.add(resources, of: handler, Scheme(of: url), file)
                if isConfined { explanation.launchImage = nil }
            }
            explanation.state = .known(lifecycle.state(of: handler))
            if let session = lifecycle.sessions[handler.id] {
                await session.quarantine.update(session.handler)
                explanation.quarantinedUntil = session.quarantine.end
            }
            // The router does not start a handler that is already running, or that 'openurl run' starts.
            let isToBeStarted = explanation.state == .known(.notRunning) || handler.kind == .exec
            if isToBeStarted, !isConfined, handlers.temporary.reason(for: handler.id) != .claim {
                let recognition = lifecycle.sessions.shared.launcher.recognition
                explanation.programProblem = await recognition.programProblem(of: handler)
            }
            explanation.answersCallbacks = handler.answersCallbacks
            explanation.reach = Reported(rawValue: handler.reach.rawValue)
            if !isConfined { explanation.allowedSources = handler.allowedSources?.map(\.rawValue) }
            try checkAccess(to: handler, options, from: sender)
        }
        let verdict = permissions.verdict(on: destination, from: sender.source)
        explanation.add(verdict, for: caller)
        if verdict.decision == .deny {
            throw permissions.refusal(verdict, of: destination.policyURL, to: sender.source)
        }
    }

    /// Checks that a handler accepts URLs from the sender.
    ///
    /// - Throws: the error of ``Handler/checkAccess(of:_:)``, which names the class if the options have one.
    private func checkAccess(to handler: Handler, _ options: OpenOptions, from sender: Caller) throws(OpenURLError) {
        do throws(OpenURLError) {
            try handler.checkAccess(of: sender.handler?.id, sender.callerClass)
        } catch {
            guard let senderClass = options.senderClass else { throw error }
            let reason: QuotingText = "\(handler.id) takes no URLs from a sender of the class \(senderClass.rawValue)"
            throw OpenURLError(error.code, reason)
        }
    }

    /// Returns the sender to explain: the caller, or a program of the class in the options.
    ///
    /// - Throws: `notAllowed` if the options have a class and the caller is not one of the user's programs.
    private func sender(_ options: OpenOptions, explainedTo caller: Caller) throws(OpenURLError) -> Caller {
        guard let senderClass = options.senderClass else { return caller }
        guard caller.callerClass == .user else {
            throw OpenURLError(.notAllowed, "only the user's programs may ask about the URLs of other senders")
        }
        var source = OpenContext.Source()
        source.callerClass = .known(senderClass)
        return Caller(source)
    }

    /// Returns the question about a URL for a caller that will ask the user on its own.
    func question(_ url: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> PolicyQuestion
    {
        let sender = await callers.caller(caller)
        guard let caller else { throw OpenURLError(.notAllowed, "only a program on the bus can get a permission") }
        var options = options
        options.asksAtTerminal = false
        options.permission = nil
        let destination = try await firstDestination([url] + options.fallback, options, sender)
        try destination.claimant.handler?.checkAccess(of: sender.handler?.id, sender.callerClass)
        let verdict = permissions.verdict(on: destination, from: sender.source)
        switch permissions.decision(verdict, on: destination, from: sender, options) {
        case .go: throw OpenURLError(.notAllowed, "the URL is allowed without a question, so it needs no permission")
        case .ask(let dialog): return permissions.give(dialog, to: caller)
        case .refuse(let error): throw error
        }
    }

    private func firstDestination(
        _ urls: [String],
        _ options: OpenOptions,
        _ sender: Caller
    ) async throws(OpenURLError) -> Destination {
        var noHandler: OpenURLError?
        for url in urls {
            do throws(OpenURLError) {
                return try await destinations.foreseen(url, options, from: sender)
            } catch {
                guard error.code == .noHandler else { throw error }
                noHandler = noHandler ?? error
            }
        }
        throw noHandler ?? OpenURLError(.noHandler, "there is no URL")
    }

    /// Returns whether a program waits for a URL, and would get it from the caller.
    ///
    /// - Throws: `notAllowed` if the program would not get it. A confined caller must not learn that, as in
    ///   ``Opener/receiver(of:_:among:)``.
    private func isAwaited(_ url: GenericURL, from caller: Caller) throws(OpenURLError) -> Bool {
        do throws(OpenURLError) {
            let claims = callbacks.claims(on: url)
            guard try callbacks.claims.claim(for: url, from: caller.source, among: claims) != nil else { return false }
            try permissions.checkCallback(url, from: caller.source)
            return true
        } catch {
            guard caller.callerClass.isConfined else { throw error }
            return false
        }
    }

    /// Returns whether a caller may learn who claims a URL's scheme.
    private func mayAsk(_ caller: Caller, about url: GenericURL) -> Bool {
        switch caller.callerClass {
        case .user: true
        case .handler: caller.handler?.mayQuery(url.lowercasedScheme) ?? false
        case .sandboxed, .remote:
            caller.source.application.flatMap { handlers.registry.handler(named: $0) }?.mayQuery(url.lowercasedScheme)
                ?? false
        case .unknown: false
        }
    }
}

extension Claimant {
    /// Returns whether a caller may learn that the handler or application exists. If it is confined, it may learn only
    /// of those that take its URLs.
    fileprivate func isShown(to caller: Caller) -> Bool {
        guard caller.callerClass.isConfined else { return true }
        do throws(OpenURLError) {
            try handler?.checkAccess(of: caller.handler?.id, caller.callerClass)
            return true
        } catch {
            return false
        }
    }
}

extension Explanation {
    /// Adds the policy's decision, with the reason if the caller may know it.
    fileprivate mutating func add(_ verdict: PolicyVerdict, for caller: Caller) {
        decision = .known(verdict.decision)
        if caller.source.mayKnowPolicy { decisionReason = verdict.description }
    }

    /// Adds the reason not to open the URL.
    fileprivate mutating func fail(with error: OpenURLError) {
        self.error = (error.code.errorName.rawValue, error.message)
    }
}

extension GenericURL {
    fileprivate var explainedParts: [String: String] {
        var parts = ["path": String(path)]
        parts["opaquePart"] = opaquePart.map(String.init)
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

extension Explanation {
    /// Adds the launch image, and the names in the user's language.
    fileprivate mutating func add(
        _ resources: BundleResources,
        of handler: Handler,
        _ scheme: Scheme?,
        _ file: FileKind?
    ) {
        launchImage = resources.launchImage(for: scheme)
        if let file {
            // The name in the manifest is often meant for people.
            typeName = handler.manifest.documentType(of: file)?.name.map { resources.typeNames[$0] ?? $0 }
        } else if let scheme {
            // The name in the manifest is an identifier.
            urlName = handler.manifest.urlTypes.first { $0.schemes.contains(scheme) }?.name
                .flatMap { resources.urlNames[$0] }
        }
    }
}

extension Explanation {
    /// Adds what the rules for links say.
    ///
    /// - Parameters:
    ///   - decision: their decision; nil if they do not concern the URL.
    ///   - destination: the destination that they choose; nil if the person would be asked.
    fileprivate mutating func add(_ decision: LinkDecision?, _ destination: Destination?, _ caller: Caller) {
        guard let decision else { return }
        let source = caller.source
        // The changed URL is the result of a rule, which a confined caller must not know.
        if decision.url.description != url, !caller.callerClass.isConfined { changedURL = decision.url.description }
        guard let rule = decision.rule else { return }
        if source.mayKnowPolicy { linkRule = "\(rule.place): \(rule.text)" }
        let shown = source.mayKnowPolicy ? "the rule for links in \(rule.place)" : "a rule for links"
        let reason = "\(shown) comes first"
        for index in candidates.indices where candidates[index].wins {
            candidates[index].wins = false
            candidates[index].reason = reason
        }
        guard let claimant = destination?.claimant else { return }
        candidates.removeAll { $0.id == claimant.id }
        let kind = HandlerKind(claimant.kind)
        candidates.insert(
            Candidate(id: claimant.id, kind: .known(kind), host: nil, wins: true, reason: reason),
            at: 0
        )
    }

    /// Adds the handlers that claim a link: the one that gets it first, and the others last.
    ///
    /// - Parameters:
    ///   - winner: the handler that gets the link because of its proof; nil if another claimant gets it.
    ///   - hasRule: whether a rule for links has decided.
    fileprivate mutating func add(_ links: [LinkCandidate], _ winner: Handler?, hasRule: Bool) {
        if let winner {
            for index in candidates.indices where candidates[index].wins {
                candidates[index].wins = false
                candidates[index].reason =
                    "a proven handler for the link comes first; 'openurl --browser' opens it here"
            }
            candidates.removeAll { $0.id == winner.id.rawValue }
        }
        for link in links where !candidates.contains(where: { $0.id == link.handler.id.rawValue }) {
            let wins = link.handler.id == winner?.id
            var reason = link.reason
            if !wins, link.origin != .nothing {
                let other = hasRule ? "a rule for links comes first" : "it does not get the link from this sender"
                // The list has no handler that is hidden from the caller.
                let shown = winner.flatMap { winner in links.first { $0.handler.id == winner.id } }
                reason += "; \(shown.map { "\($0.handler.id) comes first" } ?? other)"
            }
            let candidate = Candidate(
                id: link.handler.id.rawValue,
                kind: .known(HandlerKind(link.handler.kind)),
                host: nil,
                wins: wins,
                reason: reason
            )
            candidates.insert(candidate, at: wins ? 0 : candidates.count)
        }
    }
}

extension Explanation.Candidate {
    fileprivate init(_ candidate: SchemeRegistry.Candidate) {
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
