internal import Translations

/// Reports for how many schemes the entries were checked, if nothing is wrong with them.
struct EntrySoundness: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        let schemes = EntryCheck(evidence: evidence).schemes
        let count = translated(
            schemes.count,
            one: "the entries of \(schemes.count) scheme",
            other: "the entries of \(schemes.count) schemes"
        )
        findings.addSoundness(of: .entries, "entries", count, translated("can pass URLs on"))
    }
}
