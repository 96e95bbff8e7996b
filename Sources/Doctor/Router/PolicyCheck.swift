internal import DBus
internal import OpenURLBus
internal import Translations
internal import UserFiles

/// Reports the problems in the files of rules, and the rules and answers that deny the URLs that the user asks about.
struct PolicyCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let bus = evidence.routerBus else { return }
        do throws(CallError) {
            let (rules, problems) = try bus.call(PolicyInterface.rules, on: RouterService.object, Empty()).values
            for problem in problems {
                let file = Self.file(in: problem)
                let fix = file.map { editing($0) }
                findings.add(.router, .warn, "policy", translated("policy"), problem, file: file, fix: fix)
            }
            let denials = rules.filter {
                $0.decision == .deny && ($0.scheme == "*" || evidence.concerns(scheme: $0.scheme, handler: nil))
            }
            // The problem for which a rule stands is already reported.
            for rule in denials where topic != nil && !rule.standsForProblem {
                findings.add(
                    .router,
                    .warn,
                    "policy",
                    translated("policy"),
                    translated("line \(rule.line) denies \(rule.scheme): \(rule.host ?? "") to \(rule.source)"),
                    file: rule.file,
                    fix: rule.isUsers
                        ? "openurl policy reset --source \(quotedForShell(rule.source)) \(pattern(rule))" : nil
                )
            }
            let answers = try bus.call(PolicyInterface.answers, on: RouterService.object, Empty())
            let refusals = answers.filter {
                $0.decision == .deny && evidence.concerns(scheme: $0.scheme, handler: $0.handler)
            }
            for answer in refusals where topic != nil {
                let target = answer.host.map { "\(answer.scheme)://\($0)" } ?? answer.scheme
                findings.add(
                    .router,
                    .warn,
                    "refusal",
                    translated("policy"),
                    translated("you refused \(target) from \(answer.source)"),
                    fix: "openurl policy forget --source \(quotedForShell(answer.source)) \(quotedForShell(target))"
                )
            }
            if topic == nil || denials.isEmpty && refusals.isEmpty {
                let reason = translated(
                    "rules that deny URLs: \(denials.count); remembered refusals: \(refusals.count)"
                )
                findings.add(.router, .ok, "policy", translated("policy"), reason)
            }
        } catch {
            findings.add(
                .router,
                .skip,
                "policy",
                translated("policy"),
                translated("the router could not list its rules: \(error)")
            )
        }
    }

    /// Returns the path of the file with a problem, whose text is `FILE: line NUMBER: REASON` or `FILE: REASON`; nil if
    /// the text names none.
    static func file(in problem: String) -> String? {
        let end = problem.firstMatch(of: /: line [0-9]+:/)?.range.lowerBound ?? problem.firstIndex(of: ":")
        return end.map { String(problem[..<$0]) }
    }

    private func pattern(_ rule: PolicyRule) -> String {
        quotedForShell(rule.host.map { "\(rule.scheme)://\($0)" } ?? rule.scheme)
    }
}
