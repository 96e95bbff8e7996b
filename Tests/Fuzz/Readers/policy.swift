@testable import Policy
@testable import RFC1808
@testable import SchemeRegistry

/// Reads a text as the rules of a policy, and as remembered answers. Both are printed, changed and read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let policy = PolicyText(text)
    precondition(PolicyText(policy.text) == policy)
    let lines = policy.rules(file: "policy", isUsers: true).rules
    for line in lines where !line.isRefusal { checkRule(line, in: policy) }
    checkDecisions(PolicyRules(lines), text)
    checkAnswers(text)
    return 0
}

/// Checks that a rule is read as it is printed, can be changed, and is gone once it is removed.
private func checkRule(_ line: PolicyLine, in policy: PolicyText) {
    let pattern = line.pattern
    guard let again = try? PolicyPattern(urls: pattern.urls, source: pattern.source.description) else {
        preconditionFailure("\(pattern) cannot be read")
    }
    precondition(again == pattern)
    precondition(pattern.covers(pattern))
    var changed = policy
    changed.set(pattern, .deny)
    precondition(PolicyText(changed.text) == changed)
    let rules = changed.rules(file: "policy", isUsers: true).rules.filter { $0.pattern == pattern && !$0.isRefusal }
    // The last rules of a file that has too many are not used.
    precondition(rules.map(\.decision) == [.deny] || changed.text.utf8.count > 10_000)
    precondition(changed.remove(pattern))
    precondition(!changed.remove(pattern))
}

/// Finds the rule for a URL that the text may contain, from callers of all classes.
private func checkDecisions(_ rules: PolicyRules, _ text: String) {
    for word in text.unicodeScalars.split(whereSeparator: { $0 == " " || $0 == "\n" }).prefix(4) {
        guard let url = try? GenericURL(String(word)), let name = url.scheme, let scheme = try? Scheme(String(name))
        else {
            continue
        }
        let target = PolicyURL(url, scheme: scheme)
        let callers = [
            PolicyCaller(.user), PolicyCaller(.handler, name: "com.acme.app"), PolicyCaller(.sandboxed),
            PolicyCaller(.remote, name: "example.com"), PolicyCaller(.unknown),
        ]
        let found = callers.compactMap { rules.rule(for: target, from: $0) }
        precondition((rules.strictestRule(for: target, from: callers) == nil) == found.isEmpty)
        _ = rules.ruleForUnknownCaller(of: target)
        let exact = target.pattern(from: .every)
        if target.hasExactPattern { precondition(exact.isFor(target)) }
    }
}

private func checkAnswers(_ text: String) {
    let answers = RememberedAnswers(text: text)
    precondition(RememberedAnswers(text: answers.text) == answers)
    precondition(answers.all.count <= RememberedAnswers.limit)
}
