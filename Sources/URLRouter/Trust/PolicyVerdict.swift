internal import OpenURLBus
internal import Policy
internal import SchemeRegistry
internal import UserFiles

/// A decision about a URL on its way from a caller to a handler, and the reason for the decision.
struct PolicyVerdict: Sendable {
    /// Why a URL is allowed, denied, or needs an answer.
    enum Reason: Sendable {
        case rule(PolicyLine)
        /// An answer, and why the router would ask without it.
        indirect case answer(RememberedAnswer, insteadOf: Reason)
        /// The caller is on another host or in a container. It may open only `http` and `https` URLs, after a question.
        case remoteCaller
        /// The caller does not see the same files as the program that would open the file.
        case localFile
        /// The handler's manifest has `OUAsk`.
        case manifest(Handler)
        case none
    }

    let decision: PolicyDecision
    let reason: Reason

    static let allowed = PolicyVerdict(decision: .allow, reason: .none)

    /// The reason in words.
    var description: String {
        switch reason {
        case .rule(let rule): "the rule '\(rule.text)' \(rule.place)"
        case .answer(let answer, _): "a remembered answer for \(answer.key.pattern)"
        case .remoteCaller: "the router's own rule about URLs from other hosts"
        case .localFile: "the router's own rule about files and sandboxes"
        case .manifest(let handler): "the key OUAsk in the manifest of \(handler.id)"
        case .none: "no rule"
        }
    }

    /// The reason in words for a caller. Programs in a sandbox or on another computer do not learn the user's rules and
    /// files.
    func description(for source: OpenContext.Source) -> String { source.mayKnowPolicy ? description : "the policy" }

    /// Says in a clause how a URL can be allowed.
    ///
    /// - Parameters:
    ///   - pattern: the narrowest pattern with which a rule allows the URL.
    ///   - isHostInDoubt: whether programs may find different hosts in the URL.
    ///   - source: the caller.
    func advice(_ pattern: PolicyPattern, isHostInDoubt: Bool, to source: OpenContext.Source) -> String {
        // Every other text says something about the reason.
        guard source.mayKnowPolicy else { return pattern.adviceToAllow }
        return switch reason {
        case .rule(let rule) where rule.isUsers && rule.isRefusal: "'openurl policy' says how to correct it"
        case .rule(let rule) where !rule.isUsers: "only the administrator can change that"
        // A rule that allows every host is less specific, unless the source or the scheme already decides.
        case .rule(let rule)
        where isHostInDoubt && rule.pattern.host != nil && rule.pattern.source == pattern.source
            && rule.pattern.scheme == pattern.scheme:
            "only a change of the rule '\(rule.text)' allows it, because programs may find different hosts in the URL"
        case .answer(let answer, _):
            "'openurl policy forget \(answer.key.pattern.arguments)' forgets the answer"
        case .rule, .remoteCaller, .localFile, .manifest, .none: pattern.adviceToAllow
        }
    }
}

extension OpenContext.Source {
    /// Whether the caller may learn the rules and the paths of their files.
    var mayKnowPolicy: Bool { callerClass == .known(.user) || callerClass == .known(.handler) }
}

extension PolicyPattern {
    /// The arguments that give the pattern to `openurl policy`.
    var arguments: String { "--source \(source.shellWord) \(urls.quoted)" }

    /// The command that makes a rule for the pattern, in a clause. A person may read it on another machine or in a container,
    /// where the command would change other rules.
    var adviceToAllow: String {
        let command = "'openurl policy allow \(arguments)'"
        switch source {
        case .host, .container, .callers(.remote): return "\(command), run where the URL is to be opened, allows it"
        case .every, .callers, .applications, .application: return "\(command) allows it"
        }
    }
}

extension PolicySource {
    fileprivate var shellWord: String { description.quoted }
}

extension String {
    /// The text as a word in a shell command. It needs no escapes, because a pattern contains no quotation marks.
    fileprivate var quoted: String { contains("*") ? "\"\(self)\"" : self }
}
