internal import Policy
package import RFC1808

/// The decision about a link.
package struct LinkDecision: Sendable, Hashable {
    package enum Action: Sendable, Hashable {
        case open(LinkTarget)
        /// The link is not opened.
        case drop
        /// No rule decides, so the desktop's default browser opens the link.
        case usual
    }

    package var action = Action.usual
    /// The URL to open, which rules may have changed.
    package var url: GenericURL
    /// The rule that decides; nil if none does.
    package var rule: LinkRule?
    /// The rules that have changed the URL, in order.
    package var changes: [LinkRule] = []
    /// Why rules that match could not be used, one line each.
    package var problems: [String] = []
}

/// The rules for links, in order.
///
/// The first rule that matches decides, apart from rules that only change the URL, after which the search goes on with
/// the next line. So each rule is used at most once for a link, and a search ends.
package struct LinkRules: Sendable, Hashable {
    /// The rules in order: the user's, then the administrator's.
    package let rules: [LinkRule]
    /// The schemes, in lower case, that rules name besides `http` and `https`.
    package let schemes: Set<String>
    private let index: LinkIndex

    /// Maximum number of rules that change one link.
    package static let maximumChanges = 8

    /// The source of a rule that has only one.
    enum SourceKey: Sendable, Hashable {
        case source(PolicySource)
        case program(String)
    }

    package init(_ rules: [LinkRule] = []) {
        self.rules = rules
        index = LinkIndex(rules)
        schemes = Set(rules.flatMap(\.patterns).compactMap(\.scheme).filter { !Link.isOfTheWeb($0) })
    }

    /// Returns whether the rules may have something to say about a URL.
    package func concern(_ url: GenericURL) -> Bool {
        guard !rules.isEmpty, let scheme = url.lowercasedScheme,
            Link.isOfTheWeb(scheme) || schemes.contains(scheme)
        else { return false }
        // A scheme alone, as in a question about its default application, is not a link.
        return url.host != nil || !url.path.isEmpty || url.opaquePart?.isEmpty == false
    }

    /// Decides about a link.
    ///
    /// - Parameters:
    ///   - url: the link.
    ///   - caller: the verified program that it comes from.
    ///   - moment: the time.
    package func decision(on url: GenericURL, from caller: LinkCaller, at moment: LinkMoment) -> LinkDecision {
        var decision = LinkDecision(url: url)
        var next = 0
        var budget = LinkChange.maximumSteps
        while concern(decision.url), let link = Link(decision.url),
            let found = firstMatch(link, caller, moment, from: next, mayChange: budget > 0)
        {
            let rule = rules[found]
            next = found + 1
            if rule.changesURLs {
                guard decision.changes.count < Self.maximumChanges else {
                    decision.problems.append(
                        "\(rule.place): more than \(Self.maximumChanges) rules would change the link"
                    )
                    // One line in the log is enough.
                    budget = 0
                    continue
                }
                do throws(LinkChangeError) {
                    let changed = try rule.changed(decision.url, budget: &budget)
                    if changed != decision.url { decision.changes.append(rule) }
                    decision.url = changed
                } catch {
                    decision.problems.append("\(rule.place): the rule \(error)")
                    continue
                }
            }
            switch rule.action {
            case .goOn: continue
            case .drop: decision.action = .drop
            case .open(let target): decision.action = .open(target)
            }
            decision.rule = rule
            return decision
        }
        return decision
    }

    /// Returns the index of the first rule that matches, from an index on.
    ///
    /// - Parameter mayChange: whether it may be a rule that changes URLs.
    func firstMatch(
        _ link: Link,
        _ caller: LinkCaller,
        _ moment: LinkMoment,
        from first: Int,
        mayChange: Bool
    ) -> Int? {
        var best = rules.count
        for entries in index.entries(for: link, from: caller) {
            for entry in entries {
                if entry.rule >= best { break }
                if entry.rule >= first, mayChange || !rules[entry.rule].changesURLs,
                    rules[entry.rule].matches(link, pattern: entry.pattern, from: caller, at: moment)
                {
                    best = entry.rule
                }
            }
        }
        return best < rules.count ? best : nil
    }
}
