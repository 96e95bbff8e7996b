internal import Desktop
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks who claims a scheme, and which of them is the default.
struct DefaultCheck: Examiner {
    let evidence: Evidence

    /// Reports a choice of something that does not exist, and a scheme with several claimants and no choice.
    func perform(_ scheme: Scheme, _ findings: inout Findings) {
        let chosen = files.associations.defaults(for: scheme.mimeType)
        let claimants = files.registry.claimants(of: scheme)
        // A system handler without a program passes its URLs to the default, and cannot be the default itself.
        let choices = claimants.filter {
            files.registry.handler(named: $0)?.program != nil || DesktopFileID.name(in: $0) != nil
        }
        let file = files.desktop.writtenAssociationFile
        let isMissing = { (id: DesktopFileID) in !self.files.all.contains { $0.location.id == id } }
        // A system list contains applications that may be installed, and the desktop uses the first one that is.
        let isUsersChoice = files.usersAssociations.defaults(for: scheme.mimeType).first == chosen.first
        if let first = chosen.first, isUsersChoice, isMissing(first), !isRegistered(first) {
            let fix = choices.first.map { "openurl default \(scheme) \(quotedForShell($0))" }
            let reason = translated("is the default in mimeapps.list, but no desktop entry has this name")
            findings.add(.associations, .warn, "lost-default", "\(scheme): \(first)", reason, file: file, fix: fix)
        }
        guard claimants.count > 1 else {
            if topic != nil, let only = claimants.first {
                findings.add(.entries, .ok, "claimants", "\(scheme):", translated("only \(only) claims it"))
            } else if topic != nil,
                let only = evidence.temporary.first(where: { $0.schemes.contains(scheme.rawValue) })?.id
            {
                let fact = translated("only \(only) claims it, and the desktop does not know about that")
                findings.add(.entries, .ok, "claimants", "\(scheme):", fact)
            } else if topic != nil {
                let fix = files.registering(for: scheme)
                findings.add(
                    .entries,
                    .fail,
                    "claimants",
                    "\(scheme):",
                    translated("no handler and no application claims it"),
                    fix: fix
                )
            }
            return
        }
        let list = claimants.joined(separator: ", ")
        // Choose what the user asks about, if it is one of them.
        let asked = topic?.identifier.flatMap { id in choices.first { $0 == id || DesktopFileID.name(in: $0) == id } }
        if chosen.isEmpty, let choice = asked ?? choices.first {
            findings.add(
                .entries,
                .warn,
                "claimants",
                "\(scheme):",
                translated("is claimed by \(list), but no default is chosen"),
                file: file,
                fix: "openurl default \(scheme) \(quotedForShell(choice))"
            )
        } else if topic != nil {
            let isLost = chosen.allSatisfy { isMissing($0) && !isRegistered($0) }
            let fact =
                isLost
                ? translated("is claimed by \(list); the first one gets the URLs")
                : translated("is claimed by \(list); the first one is the default")
            findings.add(.entries, .ok, "claimants", "\(scheme):", fact)
        }
    }

    /// Returns whether an entry belongs to a handler that is about to be published.
    private func isRegistered(_ id: DesktopFileID) -> Bool {
        files.registry.handler(named: id.name) != nil
    }
}
