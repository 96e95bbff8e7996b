internal import Desktop
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Reports a problem if a file keeps the desktop from opening a scheme with the scheme's handler or application.
struct RemovalCheck: SchemeCheck {
    let evidence: Evidence

    func perform(_ scheme: Scheme, expected: String, _ findings: inout Findings) {
        let type = scheme.mimeType
        guard let entry = DesktopFileID(name: DesktopFileID.name(in: expected) ?? expected),
            files.associations.isRemoved(entry, from: type),
            !files.associations.defaults(for: type).contains(entry)
        else { return }
        let file = MimeAssociations.file(removing: entry, from: type, in: files.desktop)
        let reason = translated(
            "does not get \(scheme): from the desktop, because \(file ?? "mimeapps.list") removes it"
        )
        let fix = "openurl default \(scheme) \(quotedForShell(expected))"
        findings.add(.openers, .fail, "removed-association", expected, reason, file: file, fix: fix)
    }
}
