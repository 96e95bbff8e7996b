internal import DBus
internal import Desktop
internal import Glibc
internal import Links
internal import Logging
internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Decides by the user's rules which program opens a link.
///
/// Whatever goes wrong with a rule, the desktop's default browser opens the link, and a line in the log says why. This
/// belongs to the router's actor.
final class LinkRouting {
    private let store: LinkStore?
    private let handlers: KnownHandlers
    private let launcher: HandlerLauncher
    private let permissions: Permissions
    private let chooser: LinkChooser
    private let limits: RouterLimits
    private let loop: EventLoop
    private let log: Logger
    private var snapshot = RuleSnapshot(unread: LinkRules())
    /// Threads that are reading browsers' profiles, by the callers' applications.
    private var readings: Shares<String>

    init(
        _ store: LinkStore?,
        _ handlers: KnownHandlers,
        _ launcher: HandlerLauncher,
        _ permissions: Permissions,
        _ chooser: LinkChooser,
        _ limits: RouterLimits,
        log: Logger
    ) {
        self.store = store
        self.handlers = handlers
        self.launcher = launcher
        self.permissions = permissions
        self.chooser = chooser
        self.limits = limits
        self.log = log
        loop = launcher.loop
        readings = Shares(limit: limits.fileLooks)
    }

    // MARK: Rules

    /// Paths to watch: if one of them changes, the rules change.
    var paths: Set<String> { store?.paths ?? [] }

    /// Reads the rules again.
    ///
    /// - Returns: whether nothing has to be read again because of a temporary error.
    @discardableResult
    func readRules() async -> Bool {
        guard let store else { return true }
        let snapshot = await store.read()
        use(snapshot)
        return !snapshot.isStale
    }

    private func use(_ new: RuleSnapshot<LinkRules>) {
        if new.number > snapshot.number { snapshot = new }
    }

    /// Returns whether the rules may have something to say about a URL.
    func concern(_ url: GenericURL) -> Bool { snapshot.rules.concern(url) }

    /// Decides about a link, and does nothing.
    ///
    /// - Parameters:
    ///   - url: the link.
    ///   - source: the verified program that it comes from.
    ///   - seconds: the time, in seconds since 1970.
    func decision(
        on url: GenericURL,
        from source: OpenContext.Source,
        at seconds: Int64 = WallClock.milliseconds / 1000
    ) -> LinkDecision {
        let caller = LinkCaller(PolicyCaller(source), program: source.program)
        return snapshot.rules.decision(on: url, from: caller, at: LinkMoment(seconds: seconds))
    }

    // MARK: Destinations

    /// Finds out who gets a link.
    ///
    /// - Throws: `notAllowed` if a rule drops the link, or if the person closes the chooser; `cancelled` if the request is
    ///   cancelled meanwhile.
    func route(of url: GenericURL, _ request: OpenRequest, from sender: Caller) async throws(OpenURLError) -> LinkRoute
    {
        let decision = decision(on: url, from: sender.source)
        for problem in decision.problems { log.warning("\(problem); the rule is left out") }
        switch decision.action {
        case .usual: return .undecided(decision.url)
        case .drop:
            throw dropped(decision, sender.source)
        case .open(let target):
            if isForBrowser(target, decision.url, request.options, sender, origin: request.origin)
                || target.program == .chooser && !request.asksForChoice
            {
                return .decided(try usual(decision.url, request))
            }
            do throws(LinkFailure) {
                return .decided(try await destination(decision, target, request, from: sender))
            } catch {
                switch error {
                case .ended(let error): throw error
                case .unusable(let reason):
                    let place = decision.rule?.place ?? ""
                    log.warning("\(place): \(reason); the default browser opens the link instead")
                    return .decided(try usual(decision.url, request))
                }
            }
        }
    }

    /// Finds out who would get a link, without asking the person.
    ///
    /// - Returns: the decision, and the destination; nil if no rule decides or the person would be asked.
    /// - Throws: `notAllowed` if a rule drops the link.
    func foreseen(
        _ url: GenericURL,
        _ options: OpenOptions,
        from sender: Caller
    ) throws(OpenURLError) -> (decision: LinkDecision, destination: Destination?)? {
        guard options.handler == nil, concern(url) else { return nil }
        let decision = decision(on: url, from: sender.source)
        switch decision.action {
        case .usual: return (decision, nil)
        case .drop: throw dropped(decision, sender.source)
        case .open(let target):
            if target.program == .chooser { return (decision, nil) }
            guard let claimant = claimant(target.program, decision.url),
                !isForBrowser(target, decision.url, options, sender)
            else {
                return (decision, try Destination(decision.url, in: handlers.registry, for: options))
            }
            return (decision, Destination(decision.url, for: claimant, nil))
        }
    }

    private func dropped(_ decision: LinkDecision, _ source: OpenContext.Source) -> OpenURLError {
        let place = source.mayKnowPolicy ? "the rule in \(decision.rule?.place ?? "")" : "a rule for links"
        return OpenURLError(.notAllowed, "\(place) drops the link")
    }

    private func usual(_ url: GenericURL, _ request: OpenRequest) throws(OpenURLError) -> Destination {
        try Destination(url, in: handlers.registry, for: request.options)
    }

    private func destination(
        _ decision: LinkDecision,
        _ target: LinkTarget,
        _ request: OpenRequest,
        from sender: Caller
    ) async throws(LinkFailure) -> Destination {
        switch target.program {
        case .chooser:
            // After a question of the policy, the request begins again, and the person has chosen already.
            if let choice = request.choice {
                return try await destination(decision, choice, request, from: sender)
            }
            return try await chosen(decision, request, from: sender)
        case .browser, .named:
            guard let claimant = claimant(target.program, decision.url) else {
                throw .unusable("there is no program called \(target.program.name)")
            }
            return try await destination(decision, claimant, target, request.account)
        }
    }

    /// Returns whether the default browser gets a link instead of the program that a rule names.
    ///
    /// The browser is always one step away: a handler gives a link to it by opening the link, and a sender by asking for
    /// it.
    private func isForBrowser(
        _ target: LinkTarget,
        _ url: GenericURL,
        _ options: OpenOptions,
        _ sender: Caller,
        origin: String? = nil
    ) -> Bool {
        switch claimant(target.program, url) {
        case .handler(let handler): options.inBrowser || sender.descends(from: handler, origin: origin)
        case .application(let entry):
            options.inBrowser && Scheme(of: url).map { isBrowser(entry, for: $0) } == false
        case nil: false
        }
    }

    private func isBrowser(_ entry: DesktopEntry, for scheme: Scheme) -> Bool {
        handlers.registry.applications.claiming(scheme).contains { $0.id == entry.id }
    }

    /// Returns the destination of a link for a program, with the profile and the window that a rule wants.
    private func destination(
        _ decision: LinkDecision,
        _ claimant: Claimant,
        _ target: LinkTarget,
        _ account: String
    ) async throws(LinkFailure) -> Destination {
        let url = decision.url
        let rule = decision.rule?.place ?? ""
        guard target.profile != nil || target.container != nil || target.isPrivate else {
            return Destination(url, for: claimant, LinkManner(nil, rule: rule))
        }
        guard case .application(let entry) = claimant else {
            throw .unusable("\(claimant.id) is not a browser with profiles and private windows")
        }
        var command = entry.command
        if target.isPrivate {
            guard let own = entry.privateWindowCommand else {
                throw .unusable("\(entry.id) has no action new-private-window")
            }
            command = own
        }
        guard var command else { throw .unusable("\(entry.id) has no command") }
        var delivered = url
        if target.profile != nil || target.container != nil {
            let (browser, profiles) = try await profiles(of: entry, account)
            var profile = profiles.first { $0.isUsual } ?? profiles.first
            if let name = target.profile {
                guard let named = profiles.named(name) else {
                    throw .unusable("\(entry.id) has no profile called \(printable(name))")
                }
                profile = named
                command = command.adding(browser.arguments(for: named))
            }
            if let name = target.container {
                guard let profile, profile.containers.contains(name) else {
                    throw .unusable("\(entry.id) has no container called \(printable(name))")
                }
                guard profile.opensContainers, let contained = url.inContainer(name) else {
                    throw .unusable(
                        "\(entry.id) lacks the add-on 'Open external links in a container' in the profile "
                            + printable(profile.name)
                    )
                }
                delivered = contained
            }
        }
        var destination = Destination(url, for: claimant, LinkManner(command, rule: rule))
        if delivered != url { destination.delivered = delivered }
        return destination
    }

    /// Returns the program that a rule names.
    private func claimant(_ program: LinkTarget.Program, _ url: GenericURL) -> Claimant? {
        let registry = handlers.registry
        switch program {
        case .chooser: return nil
        case .browser:
            do throws(OpenURLError) {
                return try Destination(url, in: registry).claimant
            } catch {
                return nil
            }
        case .named(let name):
            if let handler = registry.handler(named: name) { return handler.program == nil ? nil : .handler(handler) }
            return registry.applications.application(calledInRule: name).map(Claimant.application)
        }
    }

    /// Closes the chooser, because the router is exiting. The links that wait for it go to the default browser.
    func stop() { chooser.stop() }

    /// Reads the profiles of a browser in a separate thread, because its files may be on a file system that is not
    /// responding.
    func profiles(
        of entry: DesktopEntry,
        _ account: String
    ) async throws(LinkFailure) -> (browser: Browser, profiles: [BrowserProfile]) {
        guard let browser = Browser(entry, environment: launcher.environment) else {
            throw .unusable("\(entry.id) is not a browser whose profiles are known")
        }
        guard readings.refusal(of: account, 1) == nil else {
            throw .unusable("the profiles of \(entry.id) are being read for too many links")
        }
        readings.add(1, to: account)
        let result: [BrowserProfile]?
        do throws(Errno) {
            result = try await HelperThread.run(for: limits.fileTime, on: loop) {
                browser.profiles().profiles
            } late: { [self] _ in
                readings.remove(1, from: account)
            }
        } catch {
            readings.remove(1, from: account)
            throw .unusable("cannot start a thread to read the profiles of \(entry.id): \(error)")
        }
        guard let result else { throw .unusable("the file system did not provide the profiles of \(entry.id) in time") }
        readings.remove(1, from: account)
        return (browser, result)
    }

    /// Returns the destination to try instead of one that a rule has chosen and that could not be reached; nil if there is
    /// none.
    func instead(of destination: Destination, after error: OpenURLError) -> Destination? {
        guard let manner = destination.manner, error.code == .launchFailed || error.code == .noHandler else {
            return nil
        }
        do throws(OpenURLError) {
            let usual = try Destination(destination.url, in: handlers.registry)
            guard usual.claimant.id != destination.claimant.id || manner.command != nil else { return nil }
            // A handler's queue has an order of its own, which this request has missed.
            if case .handler(let handler) = usual.claimant, handler.kind == .native { return nil }
            warn(of: destination, after: error)
            return usual
        } catch {
            return nil
        }
    }

    /// Logs why the default browser opens a link, if a rule names another program for it.
    func warn(of destination: Destination, after error: OpenURLError) {
        guard let manner = destination.manner else { return }
        // A handler's words may quote the link.
        let reason = RedactedURL(destination.delivered).redacting(error.text)
        log.warning("\(manner.rule): \(reason); the default browser opens the link instead")
    }

    // MARK: The chooser

    /// Lets the person choose.
    private func chosen(
        _ decision: LinkDecision,
        _ request: OpenRequest,
        from sender: Caller
    ) async throws(LinkFailure) -> Destination {
        let usual: Destination
        do throws(OpenURLError) {
            usual = try self.usual(decision.url, request)
        } catch {
            throw .ended(error)
        }
        switch permissions.verdict(on: usual, from: sender.source).decision {
        case .allow: break
        // The link is refused whatever the person chooses.
        case .deny: return usual
        // The policy's question about a queued link was answered for one program, or nobody was there to answer it.
        case .ask: if case .queue = request.start { return usual }
        }
        let place = LinkChooser.Place()
        request.place = .choice(place)
        let timer = request.limitPerson(on: loop) { place.withdraw() }
        defer {
            timer?.cancel()
            request.place = nil
        }
        let candidates = await candidates(for: decision.url, request.account)
        guard !candidates.isEmpty else { throw .unusable("there is no program to choose") }
        let question = LinkChooser.Question(
            url: decision.url,
            site: LinkPattern.site(of: decision.url),
            source: sender.source,
            account: request.account,
            token: request.options.activationToken ?? request.options.desktopStartupID,
            candidates: candidates
        )
        let choice: LinkChooser.Choice
        do throws(LinkFailure) {
            choice = try await chooser.ask(question, place)
        } catch {
            throw request.lateError.map(LinkFailure.ended) ?? error
        }
        if let error = request.lateError { throw .ended(error) }
        let candidate = candidates[choice.candidate]
        var target = LinkTarget(.named(candidate.entry.id.rawValue))
        target.profile = candidate.profile?.id
        target.isPrivate = choice.isPrivate
        // Only the token of the window that the person has just used lets the program take the focus.
        if let token = choice.token {
            request.options.activationToken = token
            request.options.desktopStartupID = nil
        }
        request.choice = target
        await remember(choice.scope, target, decision, sender.source)
        return try await destination(decision, .application(candidate.entry), target, request.account)
    }

    /// Returns the programs to choose from: those that claim the URL's scheme, in the desktop's order, and the profiles of
    /// each.
    private func candidates(for url: GenericURL, _ account: String) async -> [LinkChooser.Candidate] {
        guard let scheme = Scheme(of: url) else { return [] }
        var candidates: [LinkChooser.Candidate] = []
        for entry in handlers.registry.applications.claiming(scheme) {
            var profiles: [BrowserProfile] = []
            if Browser(entry, environment: launcher.environment) != nil {
                do throws(LinkFailure) {
                    profiles = try await self.profiles(of: entry, account).profiles
                } catch {
                    log.notice("the chooser does not show the profiles of \(entry.id)")
                }
            }
            // A single profile needs no name.
            let choices = profiles.count > 1 ? profiles.map(Optional.some) : [nil]
            for profile in choices where candidates.count < LinkChooser.maximumCandidates {
                candidates.append(LinkChooser.Candidate(entry: entry, profile: profile))
            }
        }
        return candidates
    }

    /// Makes a rule of the person's choice, above the one that has asked, so that the new one decides from now on.
    private func remember(
        _ scope: LinkChooser.Scope,
        _ target: LinkTarget,
        _ decision: LinkDecision,
        _ source: OpenContext.Source
    ) async {
        let (urls, from): (String, String)
        switch scope {
        case .no: return
        case .site:
            guard let site = LinkPattern.site(of: decision.url) else {
                return log.warning("the choice is not remembered, because no rule can name the link's host alone")
            }
            urls = site.pattern
            from = ""
        case .sender:
            let caller = LinkCaller(PolicyCaller(source), program: source.program)
            guard !source.isIntermediary, let sender = caller.source else {
                return log.warning("the choice is not remembered, because no rule can recognise the link's sender")
            }
            urls = "*"
            from = " from \(sender.word)"
        }
        guard let store else { return }
        do throws(FileWriteError) {
            let snapshot = try await store.insert("open \(urls) with \(target)\(from)", above: decision.rule)
            use(snapshot)
            if snapshot.isUsersStale { log.warning("the remembered choice counts once the rules can be read again") }
        } catch {
            log.warning("the choice is not remembered: \(error)")
        }
    }
}

/// The outcome of the rules for a link.
enum LinkRoute {
    /// A rule decides, or the person has chosen.
    case decided(Destination)
    /// No rule decides. Rules may have changed the URL, which is the one to open.
    case undecided(GenericURL)
}

/// Why a link does not go where a rule sends it.
enum LinkFailure: Error {
    /// The rule cannot be followed, for this reason.
    case unusable(String)
    /// The link is not opened.
    case ended(OpenURLError)
}

extension LinkTarget.Program {
    /// The program as spelt in a rule, for messages.
    fileprivate var name: String { printable(LinkTarget(self).description) }
}
