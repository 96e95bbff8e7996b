internal import Desktop
internal import SchemeRegistry
internal import Spelling
internal import Translations

/// Checks that the identifier that the user asks about belongs to something.
struct IdentifierCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let identifier = topic?.identifier, files.registry.handler(named: identifier) == nil,
            !findings.all.contains(where: { $0.part == .handlers && $0.subject == identifier })
        else { return }
        let entry = DesktopFileID.text(ofName: identifier)
        if files.all.contains(where: { $0.location.id.rawValue == entry }) {
            findings.add(
                .handlers,
                .ok,
                "handler",
                identifier,
                translated("is an application of the desktop, without a manifest")
            )
        } else {
            let near = nearestName(to: identifier)
            findings.add(
                .handlers,
                .fail,
                "handler",
                identifier,
                near.map {
                    translated("is not registered, and no desktop entry has this name; did you mean \($0)?")
                } ?? translated("is not registered, and no desktop entry has this name"),
                fix: near == nil ? "openurl register PATH" : nil
            )
        }
    }

    /// Returns the existing name that the user probably meant by a name that nothing has.
    private func nearestName(to identifier: String) -> String? {
        identifier.nearest(in: files.registry.handlers.map(\.id.rawValue) + files.all.map(\.location.id.rawValue))
    }
}
