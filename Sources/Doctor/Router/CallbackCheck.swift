internal import Desktop
internal import Translations

/// Reports the schemes for which programs are waiting. While they wait, the router has an entry for these schemes.
struct CallbackCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard router != nil else { return }
        let entry = files.entries.entries.values.first { $0.handler == "org.openurl.callback" }
        let schemes = (entry?.urlSchemes ?? []).filter { evidence.concerns(scheme: $0, handler: nil) }.sorted()
        guard !schemes.isEmpty else {
            let fact = translated("no program is waiting for one")
            return findings.add(.router, .ok, "claims", translated("callbacks"), fact)
        }
        findings.add(
            .router,
            .ok,
            "claims",
            translated("callbacks"),
            translated("programs are waiting for URLs of \(schemes.joined(separator: ", "))")
        )
    }
}
