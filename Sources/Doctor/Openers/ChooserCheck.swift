internal import Desktop
internal import SchemeRegistry
internal import Translations

/// Reports whether the dialogs in which users choose an application show the destination.
struct ChooserCheck: SchemeCheck {
    let evidence: Evidence

    func perform(_ scheme: Scheme, expected: String, _ findings: inout Findings) {
        let entry = files.entries.entries.values.first { $0.handler == expected || $0.id.rawValue == expected }
        // The check of the handler reports a missing entry.
        guard let entry else { return }
        let isListed = files.applications(for: scheme.mimeType).contains(entry.id)
        let shown =
            entry.isHiddenFromMenus
            ? translated("show it, except in KDE before Plasma 6.6, because of NoDisplay") : translated("show it")
        findings.add(
            .openers,
            .ok,
            "chooser",
            translated("choosers"),
            isListed ? shown : translated("show it only among all applications"),
            file: entry.file
        )
    }
}
