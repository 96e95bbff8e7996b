internal import DBus
internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import SchemeRegistry
internal import UserFiles

/// The requests of callers about the policy.
extension URLRouter {
    /// Reads the rules and the remembered answers. Call it before the name is requested.
    public func loadPolicy() async {
        await readPolicy()
        if let policyStore { permissions.use(await policyStore.answers()) }
    }

    /// Reads the rules again.
    func readPolicy() async {
        if let policyStore { permissions.use(await policyStore.read()) }
    }

    /// The paths whose changes change the rules.
    var policyPaths: Set<String> { policyStore?.paths ?? [] }

    // MARK: Rules

    func policyRules() -> ([PolicyRule], [String]) {
        (permissions.snapshot.rules.lines.map(PolicyRule.init), permissions.snapshot.problems)
    }

    /// Writes a rule of the user.
    func setRule(_ pattern: PolicyPattern, _ decision: PolicyDecision) async throws {
        if let rule = permissions.snapshot.rules.administratorsRule(covering: pattern) {
            throw OpenURLError(
                .notAllowed,
                "the rule of the administrator '\(rule.text)' \(rule.place) decides about that"
            )
        }
        try await changeRules { $0.set(pattern, decision) }
        let isThere = permissions.snapshot.rules.lines.contains {
            $0.isUsers && $0.pattern == pattern && $0.decision == decision
        }
        guard isThere else {
            let problems = permissions.snapshot.problems.joined(separator: "; ")
            throw RemoteError(.failed, "the rule is not used: \(problems)")
        }
    }

    /// Removes a rule of the user.
    func removeRule(_ pattern: PolicyPattern) async throws {
        guard permissions.snapshot.rules.lines.contains(where: { $0.isUsers && $0.pattern == pattern }) else {
            throw RemoteError(.failed, "you have no rule for \(pattern); 'openurl policy' shows the rules")
        }
        try await changeRules { $0.remove(pattern) }
    }

    /// Removes every rule of the user.
    func resetRules() async throws {
        try await changeRules { $0.removeAll() }
    }

    private func changeRules(_ change: @escaping @Sendable (inout PolicyText) -> Void) async throws {
        guard let policyStore else { throw RemoteError(.failed, "this router has no files of rules") }
        do throws(FileWriteError) {
            permissions.use(try await policyStore.change(change))
        } catch {
            throw RemoteError(.failed, "the rules cannot be changed: \(error)")
        }
    }

    // MARK: Answers

    func policyAnswers() -> [PolicyAnswer] {
        permissions.answers.all.map(PolicyAnswer.init)
    }

    /// Forgets the answers for the URLs and callers of a pattern; returns their number.
    func forgetAnswers(_ pattern: PolicyPattern) -> UInt32 {
        let count = permissions.forget { answer in
            let other = answer.key.pattern
            return (pattern.source == .every || pattern.source == other.source)
                && (pattern.scheme == nil || pattern.scheme == other.scheme)
                && (pattern.host == nil || pattern.host == other.host)
        }
        return UInt32(clamping: count)
    }

    // MARK: Questions

    /// The question about a URL, for a caller that asks the person itself.
    func question(_ url: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> PolicyQuestion
    {
        let sender = await callers.caller(caller)
        guard let caller else { throw OpenURLError(.notAllowed, "a permission belongs to a connection on a bus") }
        var options = options
        options.asksAtTerminal = false
        options.permission = nil
        let destination = try await firstDestination([url] + options.fallback, options, caller)
        try destination.claimant.handler?.checkAccess(of: sender.handler?.id, sender.callerClass)
        guard let dialog = try permissions.check(destination, from: sender, options) else {
            throw OpenURLError(.notAllowed, "there is no question about the URL")
        }
        return permissions.give(dialog, to: caller)
    }

    private func firstDestination(
        _ urls: [String],
        _ options: OpenOptions,
        _ caller: BusName
    ) async throws(OpenURLError) -> Destination {
        var noHandler: OpenURLError?
        for url in urls {
            do throws(OpenURLError) {
                return try await destination(url, options, caller)
            } catch {
                guard error.code == .noHandler else { throw error }
                noHandler = noHandler ?? error
            }
        }
        throw noHandler ?? OpenURLError(.noHandler, "there is no URL")
    }

    func rememberAnswer(_ permission: String, _ isAllowed: Bool, caller: BusName?) throws(OpenURLError) {
        try permissions.remember(permission, isAllowed, from: caller)
    }
}

extension PolicyRule {
    fileprivate init(_ line: PolicyLine) {
        self.init(
            source: line.pattern.source.description,
            scheme: line.pattern.scheme?.rawValue ?? "*",
            host: line.pattern.host?.rawValue,
            decision: line.decision,
            file: line.file,
            line: UInt32(clamping: line.line),
            isUsers: line.isUsers
        )
    }
}

extension PolicyAnswer {
    fileprivate init(_ answer: RememberedAnswer) {
        self.init(
            source: answer.key.pattern.source.description,
            scheme: answer.key.pattern.scheme?.rawValue ?? "*",
            host: answer.key.pattern.host?.rawValue,
            handler: answer.key.handler,
            decision: answer.isAllowed ? .allow : .deny,
            date: answer.date
        )
        uses = answer.uses
        lastUse = answer.uses == 0 ? nil : answer.lastUse
    }
}
