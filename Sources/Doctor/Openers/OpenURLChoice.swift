internal import DBus
internal import OpenURLBus
internal import SchemeRegistry
internal import Spelling
internal import Translations
internal import UserFiles

/// The handler or application that openurl chooses for a scheme or a URL, and the decision of the policy.
struct OpenURLChoice: Examiner {
    let evidence: Evidence

    /// Reports the choice.
    ///
    /// - Returns: the handler or application; nil if there is none, or if the desktop does not know about it.
    func report(on scheme: Scheme, url: String?, _ findings: inout Findings) -> String? {
        let host = topic?.host ?? (url == nil ? onlyHost(of: scheme) : nil)
        let expected = files.destination(of: scheme, host: host)
        let url = url ?? host.map { "\(scheme)://\($0)/" } ?? "\(scheme):"
        let redacted = RedactedURL(url)
        if let bus = evidence.routerBus {
            do throws(CallError) {
                let input = Arguments(url, OpenOptions())
                let explanation = try bus.call(RouterInterface.explain, on: RouterService.object, input)
                if explanation.decision == .known(.deny) {
                    findings.add(
                        .openers,
                        .fail,
                        "policy",
                        "openurl",
                        translated(
                            "denies the URL: \(explanation.decisionReason ?? translated("a rule of the policy"))"
                        ),
                        fix: "openurl policy allow \(scheme)"
                    )
                }
                if let error = explanation.error, explanation.decision != .known(.deny) {
                    let fix = expected.map { "openurl status \(quotedForShell($0))" } ?? files.registering(for: scheme)
                    let message = asking(whether: files.nearest(to: scheme), redacted.redacting(error.message))
                    findings.add(.openers, .fail, "openurl", "openurl", message, fix: fix)
                    return expected
                }
                if let handler = explanation.handler, evidence.temporary.contains(where: { $0.id == handler }) {
                    // The desktop does not know about this handler, so there is nothing to compare.
                    findings.add(
                        .openers,
                        .ok,
                        "openurl",
                        "openurl",
                        translated("\(handler), which is registered only temporarily")
                    )
                    return nil
                }
            } catch {
                let reason = redacted.redacting("\(error)")
                findings.add(
                    .openers,
                    .skip,
                    "openurl",
                    "openurl",
                    translated("the router could not explain the URL: \(reason)")
                )
            }
        }
        if expected == nil, let host, !files.registry.claimants(of: scheme).isEmpty {
            let reason = translated("has no handler for \(scheme): with the host \(host)")
            findings.add(.openers, .fail, "openurl", "openurl", reason, fix: "openurl list")
            return nil
        }
        guard let expected else {
            let reason =
                files.isFixed(scheme)
                ? translated(
                    """
                    has no handler for \(scheme):; install an application whose desktop entry has MimeType=\(scheme.mimeType)
                    """
                ) : translated("has no handler for \(scheme):")
            findings.add(
                .openers,
                .fail,
                "openurl",
                "openurl",
                asking(whether: files.nearest(to: scheme), reason),
                fix: files.registering(for: scheme)
            )
            return nil
        }
        findings.add(.openers, .ok, "openurl", "openurl", expected)
        return expected
    }

    /// If no handler takes a scheme's URLs without a host, returns a host whose URLs a handler takes.
    private func onlyHost(of scheme: Scheme) -> String? {
        guard files.registry.winner(for: scheme, host: nil) == nil else { return nil }
        let claims = files.registry.handlers(claiming: scheme).flatMap(\.claims).filter { $0.schemes.contains(scheme) }
        return claims.first?.hosts?.first?.example
    }
}
