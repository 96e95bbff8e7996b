internal import DBus
internal import OpenURLBus
internal import Policy
internal import SchemeRegistry
internal import UserFiles

/// Lets the user read and change the rules and the remembered answers.
extension Permissions {
    /// Reads the rules and the remembered answers. Call this before you request the name.
    func load() async {
        areAnswersUnread = store != nil
        await readRules()
    }

    /// Reads the rules again, and the remembered answers if they have not been read yet.
    ///
    /// - Returns: whether nothing has to be read again because of a temporary error.
    @discardableResult
    func readRules() async -> Bool {
        guard let store else { return true }
        let snapshot = await store.read()
        use(snapshot)
        if areAnswersUnread, let earlier = await store.answers(), areAnswersUnread { use(earlier) }
        return !snapshot.isStale && !areAnswersUnread
    }

    /// Paths to watch: if one of them changes, the rules change.
    var paths: Set<String> { store?.paths ?? [] }

    /// Returns the rules, and the problems in their files.
    func listedRules() -> ([PolicyRule], [String]) {
        (snapshot.rules.lines.map(PolicyRule.init), snapshot.problems)
    }

    /// Writes one of the user's rules.
    func setRule(_ pattern: PolicyPattern, _ decision: PolicyDecision) async throws {
        if let rule = snapshot.rules.administratorsRule(covering: pattern) {
            throw OpenURLError(
                .notAllowed,
                "the administrator's rule '\(rule.text)' \(rule.place) decides about that"
            )
        }
        try await changeRules { $0.set(pattern, decision) }
        let isThere = snapshot.rules.lines.contains {
            $0.isUsers && $0.pattern == pattern && $0.decision == decision
        }
        guard isThere else {
            let problems = snapshot.problems.joined(separator: "; ")
            throw RemoteError(.failed, "the rule is not used: \(problems)")
        }
    }

    /// Removes one of the user's rules.
    func removeRule(_ pattern: PolicyPattern) async throws {
        guard snapshot.rules.lines.contains(where: { $0.isUsers && !$0.isRefusal && $0.pattern == pattern })
        else {
            throw RemoteError(.failed, "you have no rule for \(pattern); 'openurl policy' shows the rules")
        }
        try await changeRules { $0.remove(pattern) }
    }

    /// Removes all of the user's rules.
    func resetRules() async throws {
        try await changeRules { $0.removeAll() }
    }

    private func changeRules(_ change: @escaping @Sendable (inout PolicyText) -> Void) async throws {
        guard let store else { throw RemoteError(.failed, "this router has no rule files") }
        let snapshot: RuleSnapshot<PolicyRules>
        do throws(FileWriteError) {
            snapshot = try await store.change(change)
        } catch {
            throw RemoteError(.failed, "the rules cannot be changed: \(error)")
        }
        use(snapshot)
        // Unless the file had these rules already, the store of the registry sees the change, and has the rules read until
        // that succeeds.
        guard !snapshot.isUsersStale else {
            let reason =
                "the rules are written, but cannot be read at the moment; the router reads them as soon as it can"
            throw RemoteError(.failed, reason)
        }
    }

    // MARK: Answers

    /// Returns the remembered answers.
    func listedAnswers() throws(RemoteError) -> [PolicyAnswer] {
        try requireAnswers()
        return answers.all.map(PolicyAnswer.init)
    }

    /// Forgets the answers for a pattern's URLs and callers, and returns how many there were.
    func forget(_ pattern: PolicyPattern) throws(RemoteError) -> UInt32 {
        let count = try forget { answer in
            let other = answer.key.pattern
            return (pattern.source == .every || pattern.source == other.source)
                && (pattern.scheme == nil || pattern.scheme == other.scheme)
                && (pattern.host == nil || pattern.host == other.host)
        }
        return UInt32(clamping: count)
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
        standsForProblem = line.isRefusal
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
