@testable import Links
@testable import Policy
@testable import RFC1808
@testable import SchemeRegistry

/// Reads a text as rules for links and as browsers' files, and decides about the URLs in it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let text = LinkText(String(decoding: bytes, as: UTF8.self))
    precondition(LinkText(text.text) == text)
    let (rules, problems) = text.rules(file: "links", isUsers: true)
    precondition(rules.count <= LinkText.maximumRules)
    for problem in problems { precondition(!problem.reason.isEmpty) }
    for rule in rules { checkRule(rule) }
    checkDecisions(LinkRules(rules), rules, bytes)
    for profile in ChromiumProfiles.profiles(in: bytes) ?? [] { precondition(LinkTarget.isName(profile.id)) }
    for (profile, path) in FirefoxProfiles.profiles(in: bytes, file: "ini").profiles {
        precondition(LinkTarget.isName(profile.name) && !profile.id.hasPrefix("-") && !path.isEmpty)
    }
    for name in FirefoxProfiles.containers(in: bytes) { precondition(LinkTarget.isName(name)) }
    return 0
}

/// Checks that a rule is read again as it is printed, and that a rule is inserted above it.
private func checkRule(_ rule: LinkRule) {
    guard let again = try? LinkRule(rule.text, file: rule.file, line: rule.line, isUsers: true) else {
        preconditionFailure("\(rule.text) cannot be read")
    }
    precondition(again == rule)
    if case .open(let target) = rule.action {
        let line = "open * with \(target)"
        guard let read = try? LinkRule(line, file: "", line: 1, isUsers: true) else {
            preconditionFailure("\(line) cannot be read")
        }
        precondition(read.action == rule.action)
    }
}

/// Compares the index with a search through all rules, for URLs that the text may contain.
private func checkDecisions(_ rules: LinkRules, _ all: [LinkRule], _ bytes: [UInt8]) {
    let words = bytes.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }).prefix(4)
    let callers = [
        LinkCaller(PolicyCaller(.user), program: "/usr/bin/mail"), LinkCaller(PolicyCaller(.sandboxed, name: "a")),
    ]
    let moment = LinkMoment(day: 3, minute: 700)
    for word in words {
        guard let url = try? GenericURL(String(decoding: word, as: UTF8.self)) else { continue }
        for caller in callers {
            let decision = rules.decision(on: url, from: caller, at: moment)
            precondition(decision.changes.count <= LinkRules.maximumChanges)
            if decision.url != url, let link = Link(decision.url) { precondition(link.isOfTheWeb && link.host != nil) }
            guard decision.changes.isEmpty, decision.problems.isEmpty, rules.concern(url), let link = Link(url) else {
                continue
            }
            let first = all.first { rule in
                rule.action != .goOn
                    && rule.patterns.indices.contains { rule.matches(link, pattern: $0, from: caller, at: moment) }
            }
            precondition(decision.rule == first)
        }
    }
}
