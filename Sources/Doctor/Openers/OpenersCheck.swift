internal import Desktop
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Asks each program that opens URLs which destination it would choose.
struct OpenersCheck: Check {
    let evidence: Evidence

    /// The maximum number of schemes about which the portal is asked.
    private static let limit = 32

    /// The checks of the ways to open a scheme, in the order of the report.
    static var schemeChecks: [any SchemeCheck.Type] {
        [
            RemovalCheck.self, GIOCheck.self, XDGOpenCheck.self, KDECheck.self, PortalCheck.self, ChooserCheck.self,
        ]
    }

    func perform(_ findings: inout Findings) {
        guard let topic, let scheme = topic.schemes.first else {
            for scheme in evidence.schemes.prefix(Self.limit) { checkPortal(scheme, &findings) }
            let reason = translated("give a scheme, a URL or a handler to see which program each opener would choose")
            return findings.add(.openers, .skip, "openers", translated("openers"), reason)
        }
        for scheme in topic.schemes.prefix(Self.limit).dropFirst() { checkPortal(scheme, &findings) }
        if let identifier = topic.identifier {
            for scheme in topic.schemes.prefix(Self.limit) { checkChoice(of: scheme, for: identifier, &findings) }
        }
        let choice = OpenURLChoice(evidence: evidence)
        guard let expected = choice.report(on: scheme, url: topic.url, &findings) else { return }
        if files.isLocal(expected) {
            let reason = translated("is only for your own programs (OUReach), so the desktop opens none of its URLs")
            return findings.add(.openers, .ok, "reach", expected, reason)
        }
        for check in Self.schemeChecks {
            check.init(evidence: evidence).perform(scheme, expected: expected, &findings)
        }
    }

    /// Reports a problem if the portal remembers a choice for a scheme that differs from the registry's.
    private func checkPortal(_ scheme: Scheme, _ findings: inout Findings) {
        let expected = files.destination(of: scheme, host: nil)
        PortalCheck(evidence: evidence).report(on: scheme, expected: expected, &findings)
    }

    /// Reports a problem if the handler or application that the user asks about does not get the URLs of one of its
    /// schemes.
    private func checkChoice(of scheme: Scheme, for identifier: String, _ findings: inout Findings) {
        let handler = files.registry.handler(named: identifier)
        guard let entry = DesktopFileID(name: identifier) else { return }
        let claimant = handler?.id.rawValue ?? entry.rawValue
        let type = scheme.mimeType
        let fix = "openurl default \(scheme) \(quotedForShell(claimant))"
        let chosen = files.associations.defaults(for: type).first { files.entries.entries[$0] != nil }
        if let chosen, case let winner = files.target(of: chosen.rawValue), winner != claimant {
            // If there is no default, the check of the claimants reports which one comes first.
            let file = MimeAssociations.file(choosing: chosen, for: type, in: files.desktop)
            let reason = translated("does not get \(scheme):, because \(file ?? "mimeapps.list") chooses \(winner)")
            findings.add(.openers, .warn, "other-choice", claimant, reason, file: file, fix: fix)
        }
    }
}
