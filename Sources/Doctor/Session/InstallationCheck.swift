internal import DBus
internal import Desktop
internal import OpenURLBus
internal import Translations
internal import UserFiles

/// Checks that the bus and the desktop find the files of the installation.
struct InstallationCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let bus, let installation = files.installation else { return }
        let serviceFile = "dbus-1/services/\(RouterService.name).service"
        let service = "\(installation.share)/\(serviceFile)"
        guard isRegularFile(service) else { return }
        let isActivatable = bus.activatableNames.contains(RouterService.name.rawValue)
        if !isActivatable, let home = files.desktop.dataHome {
            let link = "\(home)/\(serviceFile)"
            findings.add(
                .session,
                .fail,
                "prefix",
                installation.share,
                translated("the bus does not look here, so it cannot start the router"),
                file: service,
                fix: "mkdir -p \(quotedForShell(parentDirectory(of: link))) && ln -s \(quotedForShell(service)) "
                    + quotedForShell(link),
                repair: .service(link: link, target: service)
            )
        }
        let directories = [files.desktop.dataHome].compactMap(\.self) + files.desktop.dataDirectories
        guard !directories.contains(installation.share) else { return }
        let list = (directories.filter { $0 != files.desktop.dataHome } + [installation.share]).joined(separator: ":")
        findings.add(
            .session,
            .warn,
            "data-dirs",
            installation.share,
            translated(
                """
                openurl is installed here, but XDG_DATA_DIRS lacks this directory, so its entries and manuals are not found
                """
            ),
            fix: "export XDG_DATA_DIRS=\(quotedForShell(list))"
        )
    }
}
