internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// The policy in the router: its rules, the remembered answers, and the permissions that were granted for individual
/// URLs.
///
/// This belongs to the router's actor.
final class Permissions {
    /// How soon the use of an answer is written to disk.
    private static let savingDelay = Duration.seconds(5)

    private(set) var snapshot = RuleSnapshot(unread: PolicyRules())
    private(set) var answers = RememberedAnswers()
    /// Whether the answers that earlier routers have remembered are still to be read. Until then, none are written, because
    /// the file would lose them.
    var areAnswersUnread = false
    private var given = GivenPermissions()
    /// The policy's files; nil if nothing is read or written.
    let store: PolicyStore?
    private let tasks: RouterTasks
    private let log: Logger
    private let saving: RestartableTimer
    private var isSavingPlanned = false
    /// Whether the answers are being written.
    private(set) var isWriting = false
    private var hasChangedWhileSaving = false

    init(_ store: PolicyStore?, on loop: EventLoop, tasks: RouterTasks, log: Logger) {
        self.store = store
        self.tasks = tasks
        self.log = log
        saving = RestartableTimer(on: loop)
    }

    /// Uses other rules from now on, unless they are older than the current ones.
    func use(_ snapshot: RuleSnapshot<PolicyRules>) {
        if snapshot.number > self.snapshot.number { self.snapshot = snapshot }
    }

    /// Uses the answers that were remembered before this router started, together with those since then.
    func use(_ earlier: RememberedAnswers) {
        let since = answers.all
        answers = earlier
        areAnswersUnread = false
        guard !since.isEmpty else { return }
        for answer in since { answers.add(answer) }
        save()
    }

    // MARK: Decisions

    /// Decides about a URL. If the policy would ask, a remembered answer decides instead.
    func verdict(on destination: Destination, from source: OpenContext.Source) -> PolicyVerdict {
        let handler = destination.claimant.handler
        let callerClass = source.callerClass.known ?? .unknown
        if snapshot.rules.isEmpty, !callerClass.isConfined, handler?.asks != true { return .allowed }
        guard let scheme = Scheme(of: destination.url) else { return .allowed }
        let isForeignFile = callerClass.isConfined && scheme.rawValue == "file" && !destination.isInInbox
        let caller = PolicyCaller(source)
        let url = PolicyURL(destination.url, scheme: scheme)
        let verdict: PolicyVerdict
        if let rule = rule(for: url, from: caller, isIntermediary: source.isIntermediary) {
            verdict = PolicyVerdict(decision: rule.decision, reason: .rule(rule))
        } else if isForeignFile {
            verdict = PolicyVerdict(decision: .deny, reason: .localFile)
        } else if callerClass == .remote {
            verdict = PolicyVerdict(decision: scheme.isForBrowsers ? .ask : .deny, reason: .remoteCaller)
        } else if let handler, handler.asks {
            verdict = PolicyVerdict(decision: .ask, reason: .manifest(handler))
        } else {
            return .allowed
        }
        let key = RememberedAnswer.Key(pattern: url.pattern(from: caller.source), handler: destination.claimant.id)
        guard verdict.decision == .ask, caller.isMemorable, url.hasExactPattern, let answer = answers[key],
            // A yes for the user's programs does not cover a program that may pass on a sandbox's URL.
            source.isMemorable || !answer.isAllowed
        else {
            return verdict
        }
        return PolicyVerdict(
            decision: answer.isAllowed ? .allow : .deny,
            reason: .answer(answer, insteadOf: verdict.reason)
        )
    }

    /// Returns the rule that decides about a URL from a caller; nil if there is none.
    func rule(for url: PolicyURL, from source: OpenContext.Source) -> PolicyLine? {
        if snapshot.rules.isEmpty { return nil }
        return rule(for: url, from: PolicyCaller(source), isIntermediary: source.isIntermediary)
    }

    /// Checks a URL as ``schemeVerdict(of:from:namingHandler:)`` does.
    ///
    /// - Throws: `notAllowed`.
    func checkScheme(
        of url: GenericURL,
        from source: OpenContext.Source,
        namingHandler: Bool = false
    ) throws(OpenURLError) {
        guard let verdict = schemeVerdict(of: url, from: source, namingHandler: namingHandler) else { return }
        throw refusal(verdict, of: url.policyURL, to: source)
    }

    /// Decides about a URL of a program on another machine or in a container before anything is looked up, so that the
    /// program learns of no scheme whether it has a handler unless it may open the scheme's URLs.
    ///
    /// - Parameter namingHandler: whether the program names a handler, which a rule must then allow for web pages too.
    /// - Returns: why the URL is denied; nil if nothing is against it so far.
    func schemeVerdict(
        of url: GenericURL,
        from source: OpenContext.Source,
        namingHandler: Bool
    ) -> PolicyVerdict? {
        guard let scheme = Scheme(of: url), !scheme.isForBrowsers || namingHandler else { return nil }
        // Whatever the rules say, no program there answers a call.
        let rule = scheme == .reply ? nil : rule(for: PolicyURL(url, scheme: scheme), from: source)
        guard rule == nil || rule?.decision == .deny else { return nil }
        return PolicyVerdict(decision: .deny, reason: rule.map { .rule($0) } ?? .remoteCaller)
    }

    /// Checks a URL before it goes to the program that waits for it. Such a program cannot wait for the user's answer,
    /// so a URL is refused if the user would have to be asked.
    ///
    /// - Throws: `notAllowed`.
    func checkCallback(_ url: GenericURL, from source: OpenContext.Source) throws(OpenURLError) {
        guard let scheme = Scheme(of: url) else { return }
        let policyURL = PolicyURL(url, scheme: scheme)
        let rule = rule(for: policyURL, from: source)
        guard rule?.decision != .allow, rule != nil || source.callerClass == .known(.remote) else { return }
        let verdict = PolicyVerdict(decision: .deny, reason: rule.map { .rule($0) } ?? .remoteCaller)
        throw refusal(verdict, of: policyURL, to: source)
    }

    /// Returns the error for a URL that is denied.
    func refusal(_ verdict: PolicyVerdict, of url: PolicyURL?, to source: OpenContext.Source) -> OpenURLError {
        let advice = advice(verdict, on: url, to: source)
        return OpenURLError(.notAllowed, "\(verdict.description(for: source)) does not allow it; \(advice)")
    }

    /// Says in a clause how a URL can be allowed.
    ///
    /// - Parameter url: nil for a URL without a scheme, about which there is no verdict.
    private func advice(_ verdict: PolicyVerdict, on url: PolicyURL?, to source: OpenContext.Source) -> String {
        let caller = PolicyCaller(source)
        var denied = caller.source
        // If only a rule for sandboxes stops a program that passes URLs on, a rule for the user's programs is no help.
        if case .rule(let rule) = verdict.reason, source.isIntermediary, caller.callerClass == .user,
            url.flatMap({ snapshot.rules.rule(for: $0, from: caller) }) != rule
        {
            denied = .callers(.sandboxed)
        }
        let pattern = url?.patternToAllow(from: denied) ?? PolicyPattern(source: denied, scheme: nil, host: nil)
        return verdict.advice(pattern, isHostInDoubt: url?.isHostInDoubt == true, to: source)
    }

    private func rule(for url: PolicyURL, from caller: PolicyCaller, isIntermediary: Bool) -> PolicyLine? {
        switch caller.callerClass {
        case .unknown: snapshot.rules.ruleForUnknownCaller(of: url)
        // A portal and the desktop's openers also pass on URLs from sandboxes.
        case .user where isIntermediary:
            snapshot.rules.strictestRule(for: url, from: [caller, PolicyCaller(.sandboxed)])
        case .user, .handler, .sandboxed, .remote: snapshot.rules.rule(for: url, from: caller)
        }
    }

    /// Decides, as the policy says, about a URL before it goes to its handler.
    func decision(
        _ verdict: PolicyVerdict,
        on destination: Destination,
        from caller: Caller,
        _ options: OpenOptions
    ) -> Decision {
        let source = caller.source
        if case .answer(let answer, _) = verdict.reason { use(answer.key) }
        switch verdict.decision {
        case .allow: return .go
        case .ask:
            let advice = advice(verdict, on: destination.policyURL, to: source)
            let dialog = PolicyDialog(destination, from: source, advice: advice)
            if let permission = options.permission, given.take(permission, dialog, source.uniqueName) { return .go }
            guard options.asksAtTerminal, caller.callerClass == .user else { return .ask(dialog) }
            return .refuse(dialog.refusal("someone must be asked because of \(verdict.description)"))
        case .deny: return .refuse(denial(of: destination, verdict, source))
        }
    }

    /// Decides about a URL that the user has just allowed, because a rule may deny it by now.
    func decisionAfterQuestion(on destination: Destination, from source: OpenContext.Source) -> Decision {
        let verdict = verdict(on: destination, from: source)
        return verdict.decision == .deny ? .refuse(denial(of: destination, verdict, source)) : .go
    }

    private func denial(
        of destination: Destination,
        _ verdict: PolicyVerdict,
        _ source: OpenContext.Source
    ) -> OpenURLError {
        log.notice(
            "a URL was denied by \(verdict.description)",
            metadata: ["handler": "\(destination.claimant.id)", "source": "\(PolicyCaller(source).source)"]
        )
        return refusal(verdict, of: destination.policyURL, to: source)
    }

    /// Returns the permission to store with a URL in the queue, once the URL has been checked; nil if nobody had to be
    /// asked.
    func mark(of destination: Destination, from source: OpenContext.Source) -> String? {
        verdict(on: destination, from: source).decision == .ask ? "answered" : nil
    }

    /// Decides about a queued URL before each attempt, because the rules may have changed since it was accepted.
    ///
    /// If the user was asked when the URL was accepted, they are not asked again about the same handler. Nobody is
    /// there to answer any other question, so if there is one, the delivery fails.
    func decision(_ verdict: PolicyVerdict, on destination: Destination, of delivery: Delivery) -> Decision {
        if verdict.decision == .allow { return .go }
        let source = delivery.context.source
        if verdict.decision == .deny { return .refuse(refusal(verdict, of: destination.policyURL, to: source)) }
        let obstacle: String
        if delivery.handler.isEmpty {
            obstacle = ", but there is nobody to ask here"
        } else if delivery.handler != destination.claimant.id {
            let handler = source.mayKnowPolicy ? ", \(delivery.handler)" : ""
            obstacle = ", and the URL was accepted for another handler\(handler)"
        } else if delivery.options.permission == nil {
            obstacle = ", but nobody was asked when the URL was accepted"
        } else {
            return .go
        }
        let reason = verdict.description(for: source)
        let advice = advice(verdict, on: destination.policyURL, to: source)
        let dialog = PolicyDialog(destination, from: source, advice: advice)
        return .refuse(dialog.refusal("someone must be asked because of \(reason)\(obstacle)"))
    }

    // MARK: Permissions

    /// Grants a permission for a URL to a caller that will ask the user about it on its own.
    func give(_ dialog: PolicyDialog, to connection: BusName) -> PolicyQuestion {
        PolicyQuestion(
            url: dialog.shownURL,
            sender: dialog.sender,
            handler: dialog.handler,
            permission: given.add(dialog, connection.rawValue),
            isMemorable: dialog.isMemorable
        )
    }

    /// Remembers the answer to the question that belongs to a permission.
    func remember(_ permission: String, _ isAllowed: Bool, from connection: BusName?) throws(OpenURLError) {
        guard let dialog = given.dialog(of: permission, connection?.rawValue), dialog.isMemorable else {
            throw OpenURLError(.notAllowed, "the question is gone, so its answer cannot be remembered; ask again")
        }
        remember(dialog, isAllowed)
    }

    // MARK: Answers

    /// Remembers an answer if the caller can be recognised in future.
    func remember(_ dialog: PolicyDialog, _ isAllowed: Bool) {
        guard dialog.isMemorable else { return }
        answers.add(RememberedAnswer(dialog.key, isAllowed: isAllowed, date: Self.now))
        save()
    }

    /// Throws an error if the answers that earlier routers have remembered are not known yet.
    func requireAnswers() throws(RemoteError) {
        if areAnswersUnread { throw RemoteError(.failed, "the remembered answers cannot be read now; try again") }
    }

    /// Forgets the answers that meet a condition, and returns how many there were.
    func forget(where isForgotten: (RememberedAnswer) -> Bool) throws(RemoteError) -> Int {
        try requireAnswers()
        let count = answers.forget(where: isForgotten)
        if count > 0 { save() }
        return count
    }

    private func use(_ key: RememberedAnswer.Key) {
        answers.use(key, at: Self.now)
        guard !isSavingPlanned else { return }
        isSavingPlanned = true
        saving.start(in: Self.savingDelay) {
            self.isSavingPlanned = false
            self.save()
        }
    }

    /// Writes the answers. If they change in the meantime, it writes them again.
    private func save() {
        guard let store, !areAnswersUnread else { return }
        guard !isWriting else { return hasChangedWhileSaving = true }
        isWriting = true
        tasks.start {
            repeat {
                self.hasChangedWhileSaving = false
                await store.save(self.answers)
            } while self.hasChangedWhileSaving
            self.isWriting = false
        }
    }

    private static var now: UInt64 { UInt64(clamping: time(nil)) }
}

/// Permissions for individual URLs that callers have received but not used yet. Only the newest are kept.
private struct GivenPermissions {
    private struct Permission {
        let text: String
        let dialog: PolicyDialog
        let connection: String
        let end: ContinuousClock.Instant
    }

    private static let limit = 64
    private var permissions: [Permission] = []

    /// Adds a permission, and returns a string for it that cannot be guessed.
    mutating func add(_ dialog: PolicyDialog, _ connection: String) -> String {
        var generator = SystemRandomNumberGenerator()
        let text = (0..<2).map { _ in String(generator.next(), radix: 36) }.joined(separator: "-")
        permissions.removeAll { $0.end < .now }
        if permissions.count >= Self.limit { permissions.removeFirst() }
        let end = ContinuousClock.now + PolicyInterface.permissionLifetime
        permissions.append(Permission(text: text, dialog: dialog, connection: connection, end: end))
        return text
    }

    /// Returns the question that belongs to a permission on this connection.
    func dialog(of text: String, _ connection: String?) -> PolicyDialog? {
        permissions.first { $0.text == text && $0.connection == connection && $0.end > .now }?.dialog
    }

    /// Uses up a permission. Returns whether it is for exactly this URL, handler and connection.
    mutating func take(_ text: String, _ dialog: PolicyDialog, _ connection: String?) -> Bool {
        guard let given = self.dialog(of: text, connection), given.url == dialog.url, given.key == dialog.key else {
            return false
        }
        permissions.removeAll { $0.text == text }
        return true
    }
}

extension GenericURL {
    /// The parts that matter to the policy; nil for a URL without a scheme.
    var policyURL: PolicyURL? { Scheme(of: self).map { PolicyURL(self, scheme: $0) } }
}

extension Destination {
    /// The parts of the URL that matter to the policy; nil for a URL without a scheme.
    var policyURL: PolicyURL? { url.policyURL }
}

extension Scheme {
    /// Whether the scheme's URLs are web pages.
    fileprivate var isForBrowsers: Bool { rawValue == "http" || rawValue == "https" }
}
