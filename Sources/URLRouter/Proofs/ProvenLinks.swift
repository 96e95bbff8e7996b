internal import DBus
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles
internal import WebLinks

/// Decides which links to web pages go to a handler instead of the browser, and keeps the proofs for that.
///
/// A link is decided about from memory alone. Sites are asked in the background: there is one alarm, for the time when the
/// first site is to be asked again, and without a claim on a site there is none. This belongs to the router's actor.
final class ProvenLinks {
    private let handlers: KnownHandlers
    private let loop: EventLoop
    private let log: Logger
    private let tasks: RouterTasks
    /// Nil if there is nowhere to store proofs.
    private let store: ProofStore?
    private let sites: any SiteAsking
    private let clock: () -> UInt64
    /// Tries again to read the proofs of earlier routers.
    private let retry: RestartableTimer
    /// How long the router waits until it tries again.
    private let pause: Duration

    private var proofs: [Key: LinkProof] = [:]
    /// Whether the proofs of earlier routers are known. Without them, no handler gets a link, because the person may have
    /// decided against it.
    private(set) var isLoaded = false
    /// Why the proofs could not be read the last time, as the log says; nil before a failure.
    private var problem: String?
    /// The damaged file of an earlier router; nil if there is none.
    private var damaged: String?
    private var isStarted = false
    private var isStopped = false
    private var alarm: WallClockAlarm?
    /// The hosts that are being asked.
    private(set) var asking: Set<WebHost> = []
    /// The hosts that a call wants to be asked now.
    private var demanded: Set<WebHost> = []
    /// The calls that wait for the answers of hosts.
    private var waiting: [WebHost: [CheckedContinuation<Void, Never>]] = [:]
    /// Links that were handed over a short time ago; see ``isRepeated(_:_:)``.
    private var recent: [(link: String, handler: BundleIdentifier, time: ContinuousClock.Instant)] = []

    private struct Key: Hashable, Comparable {
        let host: String
        let handler: String

        static func < (left: Key, right: Key) -> Bool { (left.host, left.handler) < (right.host, right.handler) }
    }

    /// Number of sites that are asked at the same time.
    private static let sitesAtOnce = 2
    /// Number of links that are remembered for a short time, and this time.
    private static let recentLinks = 32
    private static let recentTime = Duration.seconds(10)

    init(
        _ handlers: KnownHandlers,
        _ shared: SharedParts,
        _ store: ProofStore?,
        _ sites: any SiteAsking,
        clock: @escaping () -> UInt64 = { UInt64(clamping: WallClock.milliseconds) },
        pause: Duration = .seconds(60)
    ) {
        self.handlers = handlers
        loop = shared.loop
        log = shared.log
        tasks = shared.tasks
        self.store = store
        self.sites = sites
        self.clock = clock
        self.pause = pause
        retry = RestartableTimer(on: shared.loop)
    }

    // MARK: Decisions

    /// Returns the handler that gets a URL instead of the browser; nil if the URL takes its usual route.
    ///
    /// - Parameters:
    ///   - sender: the program that opens the URL.
    ///   - origin: the handler that a stored URL comes from; nil for any other URL.
    func handler(for url: GenericURL, from sender: Caller, origin: String? = nil) -> Handler? {
        let winner = candidates(for: url).first { $0.origin != .nothing && accepts($0.handler, sender) }
        guard let handler = winner?.handler else { return nil }
        // The browser is always one step away: a handler gives a link to the browser by opening it.
        guard !sender.descends(from: handler, origin: origin), !isRepeated(url, handler, sender) else { return nil }
        return handler
    }

    /// Returns whether a URL may be for a handler, whoever sends it.
    func concern(_ url: GenericURL) -> Bool {
        do throws(WebLink.Refusal) {
            let host = try WebLink(url).host
            return isLoaded && !handlers.registry.handlers(claimingLinksTo: host).isEmpty
        } catch {
            return false
        }
    }

    /// Returns the handlers that claim the links to a URL's host, the winner first; none if every program has to agree
    /// that the URL is for the browser.
    func candidates(for url: GenericURL) -> [LinkCandidate] {
        let link: WebLink
        do throws(WebLink.Refusal) {
            link = try WebLink(url)
        } catch {
            return []
        }
        guard isLoaded else { return [] }
        let now = clock()
        let all = handlers.registry.handlers(claimingLinksTo: link.host).map { handler in
            let key = Key(host: link.host.rawValue, handler: handler.id.rawValue)
            return LinkCandidate(handler, link, proofs[key], onlyDecisions: damaged != nil, at: now)
        }
        // The sort must keep the order of the registry.
        return all.enumerated().sorted { left, right in
            if LinkCandidate.precedes(left.element, right.element) { return true }
            return !LinkCandidate.precedes(right.element, left.element) && left.offset < right.offset
        }.map(\.element)
    }

    private func accepts(_ handler: Handler, _ sender: Caller) -> Bool {
        do throws(OpenURLError) {
            try handler.checkAccess(of: sender.handler?.id, sender.callerClass)
            return true
        } catch {
            return false
        }
    }

    /// Returns whether a program that hides the sender passes on a link that the handler got a short time ago. It may be
    /// the handler that opens the link again, as through a portal.
    private func isRepeated(_ url: GenericURL, _ handler: Handler, _ sender: Caller) -> Bool {
        guard sender.source.isIntermediary || sender.callerClass == .unknown else { return false }
        let link = url.description
        return recent.contains { $0.handler == handler.id && $0.time + Self.recentTime > .now && $0.link == link }
    }

    /// Notes that a handler gets a link.
    func note(_ url: GenericURL, for handler: Handler) {
        if recent.count == Self.recentLinks { recent.removeFirst() }
        recent.append((url.description, handler.id, .now))
    }

    // MARK: Storage

    /// Reads the proofs of earlier routers, unless they are known.
    ///
    /// - Throws: `failed` with the reason. The next call tries again.
    func load(toChange: Bool = false) async throws(RemoteError) {
        guard !isLoaded else { return }
        guard let store else {
            isLoaded = true
            return
        }
        guard let contents = try await store.load(toChange: toChange) else {
            // There is no file, so nothing has been decided.
            isLoaded = true
            return
        }
        guard !isLoaded else { return }
        for proof in contents.proofs { proofs[Key(host: proof.host, handler: proof.handler)] = proof }
        damaged = contents.damaged
        if let damaged {
            log.error(
                "earlier decisions about links are lost: handlers get only the links that 'openurl links allow' gives them, until \(printable(damaged)) is removed and the router starts again"
            )
        }
        isLoaded = true
    }

    /// Reads the proofs when the router starts.
    func loadAtStart() async {
        do throws(RemoteError) {
            try await load()
        } catch {
            problem = error.message
            log.error("no handler gets links to web pages for now: \(error.message)")
        }
    }

    private func save() async throws(RemoteError) {
        guard let store else {
            throw RemoteError(.failed, "there is no directory for proofs; set HOME or XDG_STATE_HOME")
        }
        try await store.save(proofs.sorted { $0.key < $1.key }.map(\.value))
    }

    // MARK: The person's decisions

    /// Notes the person's decision about one handler, or about all handlers with a claim on the host if the identifier is
    /// empty. When this returns, it is on disk.
    func decide(_ host: String, _ id: String, _ decision: LinkProof.Decision?) async throws {
        let host = try Self.host(host)
        try await load(toChange: true)
        let claimants = handlers.registry.handlers(claimingLinksTo: host).filter { id.isEmpty || $0.id.rawValue == id }
        guard !claimants.isEmpty else {
            guard id.isEmpty || handlers.registry.mayHave(id) else { throw OpenURLError(unknownHandler: id) }
            let who = id.isEmpty ? "no handler claims" : "\(printable(id)) does not claim"
            throw OpenURLError(.noHandler, "\(who) links to \(host); a manifest claims them with OUAssociatedDomains")
        }
        let before = proofs
        for handler in claimants {
            let key = Key(host: host.rawValue, handler: handler.id.rawValue)
            var proof = proof(key, handler)
            proof.decision = decision
            guard proofs[key] != nil || proofs.count < ProofsInterface.proofs else {
                proofs = before
                throw OpenURLError(.limitsExceeded, "there are \(proofs.count) claims on sites already")
            }
            proofs[key] = proof
        }
        do throws(RemoteError) {
            try await save()
        } catch {
            for handler in claimants {
                let key = Key(host: host.rawValue, handler: handler.id.rawValue)
                proofs[key]?.decision = before[key]?.decision
            }
            throw error
        }
        update()
    }

    private static func host(_ text: String) throws(RemoteError) -> WebHost {
        do throws(WebHost.ParseError) {
            return try WebHost(text)
        } catch {
            throw RemoteError(.invalidArguments, "the host '\(printable(text))' \(error)")
        }
    }

    /// Returns what is known about a claim. Whatever was known about another manifest does not count.
    private func proof(_ key: Key, _ handler: Handler) -> LinkProof {
        if let proof = proofs[key], proof.manifest == handler.manifestPath { return proof }
        return LinkProof(handler: key.handler, host: key.host, manifest: handler.manifestPath)
    }

    /// Forgets everything about a handler that is no longer registered. Another program may get its identifier.
    ///
    /// - Parameter manifest: the manifest that is in effect now; nil if there is none. What belongs to it stays.
    func endAll(of id: BundleIdentifier, except manifest: String? = nil) async {
        let count = proofs.count
        proofs = proofs.filter { $0.key.handler != id.rawValue || $0.value.manifest == manifest }
        guard proofs.count < count else { return }
        do throws(RemoteError) {
            try await save()
        } catch {
            log.error("its proofs for links were not removed: \(error.message)", metadata: ["handler": "\(id)"])
        }
    }

    /// Returns every claim and its proof.
    func list() async throws(RemoteError) -> [LinkProof] {
        try await load()
        let now = clock()
        let all = handlers.registry.linkHosts.lazy.flatMap { [self] host in
            handlers.registry.handlers(claimingLinksTo: host).map { handler in
                var proof = proof(Key(host: host.rawValue, handler: handler.id.rawValue), handler)
                proof.origin = .known(origin(of: proof, handler, now))
                if proof.problem == nil, proof.origin == .known(.nothing), proof.decision == nil {
                    proof.problem = proof.confirmed == nil ? reasonNotAsked : "the site's answer is too old"
                }
                return proof
            }
        }
        return Array(all.prefix(ProofsInterface.listed))
    }

    private func origin(of proof: LinkProof, _ handler: Handler, _ now: UInt64) -> LinkProof.Origin {
        switch proof.decision {
        case .allow: return .person
        case .deny: return .nothing
        case nil: break
        }
        if damaged != nil { return .nothing }
        if handler.isInstalledByAdministrator { return .administrator }
        return proof.isConfirmed(at: now) && !proof.isForAdministratorsOnly ? .site : .nothing
    }

    private var reasonNotAsked: String {
        sites.isPossible ? "the site has not been asked yet" : "openurl-proofs, which asks sites, is not installed"
    }

    // MARK: Asking sites

    /// Starts to ask sites. Returns at once.
    func start() {
        isStarted = true
        tasks.start { [self] in
            do throws(RemoteError) {
                try await load()
            } catch {
                // The reason may stay the same for a long time.
                if problem != error.message {
                    log.error("no handler gets links to web pages for now: \(error.message)")
                }
                problem = error.message
                endWaits(for: demanded.union(waiting.keys))
            }
            update()
        }
    }

    /// Tries again later to read the proofs if this has failed, as long as a handler claims links.
    private func planRetry() {
        guard isStarted, !isLoaded, problem != nil, !retry.isRunning, !handlers.registry.linkHosts.isEmpty else {
            return
        }
        retry.start(in: pause) { [weak self] in self?.start() }
    }

    /// Asks no more sites, and leaves the proofs to the next router.
    func stop() async {
        (isStarted, isStopped) = (false, true)
        retry.cancel()
        setAlarm(nil)
        endWaits(for: demanded.union(waiting.keys))
        await store?.release()
    }

    /// Asks the sites whose time has come, and prepares for the others. Call this after each change of the registry.
    func update() {
        planRetry()
        guard !isStopped, sites.isPossible else { return endWaits(for: demanded.union(waiting.keys)) }
        // A call that comes before the router is ready waits until it is.
        guard isStarted, isLoaded else { return }
        let now = clock()
        let questions = questions()
        // Nobody claims the links of these hosts any more, or the person has decided about them.
        endWaits(for: demanded.subtracting(questions.map(\.host)))
        let next = questions.filter { !asking.contains($0.host) }.map { question in
            let time = question.proofs.map { $0.nextQuestion(at: now) }.min() ?? now
            return (question, time: demanded.contains(question.host) ? 0 : time)
        }
        guard next.contains(where: { $0.time <= now }) else { return setAlarm(next.map(\.time).min()) }
        // A site whose time comes soon is asked now, so that one wake-up serves several.
        let due = next.filter { $0.time <= now || $0.0.proofs.contains { $0.isDueWithOthers(at: now) } }
        let free = max(Self.sitesAtOnce - asking.count, 0)
        for (question, _) in due.sorted(by: { ($0.time, $0.0.host) < ($1.time, $1.0.host) }).prefix(free) {
            asking.insert(question.host)
            tasks.start { [self] in await ask(question) }
        }
    }

    /// A site, and the claims about which to ask it.
    private struct Question {
        let host: WebHost
        let proofs: [LinkProof]
    }

    /// Returns the questions whose answers matter: not about handlers that have another proof, or that the person has
    /// decided about.
    private func questions() -> [Question] {
        var room = ProofsInterface.proofs - proofs.count
        return handlers.registry.linkHosts.compactMap { host in
            let claims = handlers.registry.handlers(claimingLinksTo: host).compactMap { handler -> LinkProof? in
                let key = Key(host: host.rawValue, handler: handler.id.rawValue)
                let proof = proof(key, handler)
                guard !handler.isInstalledByAdministrator, proof.decision == nil else { return nil }
                if proofs[key] == nil {
                    guard room > 0 else { return nil }
                    room -= 1
                }
                return proof
            }
            return claims.isEmpty
                ? nil : Question(host: host, proofs: Array(claims.prefix(SiteAnswer.maximumApps)))
        }
    }

    /// Asks a site, and notes its answer.
    private func ask(_ question: Question) async {
        let host = question.host
        demanded.remove(host)
        let answer = await sites.ask(host, about: question.proofs.map(\.handler))
        if isStarted { await note(answer, to: question) }
        asking.remove(host)
        endWaits(for: [host])
        update()
    }

    private func endWaits(for hosts: Set<WebHost>) {
        for host in hosts {
            demanded.remove(host)
            for continuation in waiting.removeValue(forKey: host) ?? [] { continuation.resume() }
        }
    }

    private func note(_ answer: SiteAnswer?, to question: Question) async {
        let now = clock()
        for asked in question.proofs {
            let key = Key(host: asked.host, handler: asked.handler)
            // By now, another manifest may have the identifier, and the answer is not about it.
            guard let handler = handlers.registry.handler(named: asked.handler),
                handler.manifestPath == asked.manifest, proofs[key] != nil || proofs.count < ProofsInterface.proofs
            else { continue }
            var proof = proof(key, handler)
            let before = proof.isConfirmed(at: now)
            proof.note(answer, at: now)
            proofs[key] = proof
            guard before != proof.isConfirmed(at: now) else { continue }
            log.notice(
                "\(before ? "it no longer gets" : "it gets") the links to \(asked.host)\(proof.problem.map { ": \($0)" } ?? "")",
                metadata: ["handler": "\(asked.handler)"]
            )
        }
        do throws(RemoteError) {
            try await save()
        } catch {
            log.error("the answer of \(question.host) is kept only until the router exits: \(error.message)")
        }
    }

    /// Asks the sites that a handler names, or all sites if the identifier is empty. Returns when they have answered.
    func fetch(_ id: String) async throws {
        if !id.isEmpty, handlers.registry.handler(named: id) == nil { throw OpenURLError(unknownHandler: id) }
        guard sites.isPossible else {
            throw RemoteError(.failed, "openurl-proofs, which asks sites, is not installed")
        }
        try await load()
        let hosts = questions().filter { id.isEmpty || $0.proofs.contains { $0.handler == id } }.map(\.host)
        // A site that is being asked already will do.
        demanded.formUnion(hosts.filter { !asking.contains($0) })
        update()
        for host in hosts {
            await withCheckedContinuation { continuation in
                guard demanded.contains(host) || asking.contains(host) else { return continuation.resume() }
                waiting[host, default: []].append(continuation)
            }
        }
    }

    private func setAlarm(_ time: UInt64?) {
        guard let time else {
            alarm?.cancel()
            alarm = nil
            return
        }
        if alarm == nil {
            do throws(Errno) {
                alarm = try WallClockAlarm(on: loop) { [weak self] _ in self?.update() }
            } catch {
                log.error("sites are not asked again: no alarm can be set: \(error)")
            }
        }
        alarm?.set(Int64(clamping: time))
    }
}
