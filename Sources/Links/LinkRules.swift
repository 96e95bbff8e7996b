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
    private let index: [Place: Bucket]

    /// Maximum number of rules that change one link.
    package static let maximumChanges = 8

    /// The source of a rule that has only one.
    enum SourceKey: Sendable, Hashable {
        case source(PolicySource)
        case program(String)
    }

    private enum HostKey: Sendable, Hashable {
        case any
        case one(Substring)
        case below(Substring)
    }

    private struct Place: Sendable, Hashable {
        let host: HostKey
        let source: SourceKey?
    }

    /// A pattern of a rule.
    private struct Candidate: Sendable, Hashable {
        let rule: Int
        let pattern: Int
    }

    /// The patterns with the same host and source, by the bytes with which the path begins.
    private struct Bucket: Sendable, Hashable {
        /// The lengths of the keys below.
        var lengths: [Int] = []
        var candidates: [ArraySlice<UInt8>: [Candidate]] = [:]

        mutating func add(_ candidate: Candidate, _ prefix: ArraySlice<UInt8>) {
            if candidates[prefix] == nil, !lengths.contains(prefix.count) { lengths.append(prefix.count) }
            candidates[prefix, default: []].append(candidate)
        }
    }

    /// Maximum length of a path's beginning in the index.
    private static let maximumPrefix = 64

    package init(_ rules: [LinkRule] = []) {
        self.rules = rules
        var index: [Place: Bucket] = [:]
        for (number, rule) in rules.enumerated() {
            let source = rule.sources.count == 1 ? rule.sources[0].key : nil
            for (position, pattern) in rule.patterns.enumerated() {
                let place = Place(host: Self.key(of: pattern.host), source: source)
                let prefix = pattern.prefix.prefix(Self.maximumPrefix)
                index[place, default: Bucket()].add(Candidate(rule: number, pattern: position), prefix)
            }
        }
        self.index = index
        schemes = Set(rules.flatMap(\.patterns).compactMap(\.scheme).filter { !Link.isOfTheWeb($0) })
    }

    private static func key(of host: LinkPattern.Host) -> HostKey {
        switch host {
        case .any, .matching: .any
        case .one(let name): .one(name[...])
        case .below(let name): .below(name[...])
        }
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
        while concern(decision.url), let link = Link(decision.url),
            let found = firstMatch(link, caller, moment, from: next)
        {
            let rule = rules[found]
            next = found + 1
            if rule.changesURLs {
                guard decision.changes.count < Self.maximumChanges else {
                    decision.problems.append(
                        "\(rule.place): more than \(Self.maximumChanges) rules would change the link"
                    )
                    continue
                }
                do throws(LinkChangeError) {
                    let changed = try rule.changed(decision.url)
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
    private func firstMatch(_ link: Link, _ caller: LinkCaller, _ moment: LinkMoment, from first: Int) -> Int? {
        var best = rules.count
        let sources = [nil] + caller.keys
        for host in Self.keys(of: link) {
            for source in sources {
                guard let bucket = index[Place(host: host, source: source)] else { continue }
                for length in bucket.lengths where length <= link.target.count {
                    for candidate in bucket.candidates[link.target[..<length], default: []] {
                        if candidate.rule >= best { break }
                        if candidate.rule >= first,
                            rules[candidate.rule].matches(link, pattern: candidate.pattern, from: caller, at: moment)
                        {
                            best = candidate.rule
                        }
                    }
                }
            }
        }
        return best < rules.count ? best : nil
    }

    /// The keys under which a pattern that matches a link can be.
    private static func keys(of link: Link) -> [HostKey] {
        guard let host = link.host else { return [.any] }
        var keys: [HostKey] = [.any, .one(host[...])]
        var rest = host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            keys.append(.below(rest))
        }
        return keys
    }
}
