internal import DBus
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the proofs with which handlers get links to web pages.
struct ProofCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let bus = evidence.routerBus else { return }
        let proofs: [LinkProof]
        do throws(CallError) {
            proofs = try bus.call(ProofsInterface.list, on: RouterService.object, Empty()).filter(isConcerned)
        } catch {
            let reason = translated("the router could not list the proofs: \(error)")
            return findings.add(.router, .skip, "links", translated("links"), reason)
        }
        for proof in proofs {
            let host = printable(proof.host)
            switch proof.origin.known {
            case .person, .administrator, .site:
                findings.add(.router, .ok, "links", host, translated("its links go to \(proof.handler)"))
            case .nothing, nil:
                if proof.decision == .deny {
                    let fact = translated("its links go to the browser, because you have revoked them")
                    findings.add(.router, .ok, "links", host, fact)
                    continue
                }
                let reason = printable(proof.problem ?? "")
                findings.add(
                    .router,
                    .warn,
                    "links",
                    host,
                    translated("\(proof.handler) claims its links, but there is no proof: \(reason)"),
                    fix: "openurl links allow \(proof.host) \(proof.handler)"
                )
            }
        }
    }

    private func isConcerned(_ proof: LinkProof) -> Bool {
        guard let topic else { return true }
        if let identifier = topic.identifier { return proof.handler == identifier }
        return topic.schemes.contains { $0.rawValue == "https" }
    }
}
