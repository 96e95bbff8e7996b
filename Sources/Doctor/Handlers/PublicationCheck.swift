internal import Desktop
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the files through which the desktop and the bus reach the handlers. The router writes them.
struct PublicationCheck: Check {
    let evidence: Evidence

    /// The command that makes the router write its files again.
    static let reloading =
        "gdbus call --session --dest \(RouterService.name) --object-path \(RouterService.path) "
        + "--method \(RegistryInterface.name).Reload"

    func perform(_ findings: inout Findings) {
        // The router publishes only what it knows.
        let unknown = evidence.unknown
        for handler in files.registry.publishedHandlers
        where !unknown.contains(handler.id.rawValue) && evidence.concerns(handler) {
            if let id = handler.desktopFileID { checkEntry(id, of: handler, &findings) }
            // Handlers with a command never take the bus name.
            if handler.kind == .native { checkService(of: handler, &findings) }
        }
    }

    private func checkEntry(_ id: DesktopFileID, of handler: Handler, _ findings: inout Findings) {
        let name = handler.id.rawValue
        guard let file = files.all.first(where: { $0.location.id == id }) else {
            let reason = translated("has no desktop entry, so no desktop program can find it")
            let directory = files.desktop.userApplicationDirectory
            return addUnwritten("unpublished", name, reason, in: directory, to: &findings)
        }
        let path = file.location.file
        guard case .application(let entry) = file.content, entry.handler == name || entry.isOwn else {
            let reason = translated("is not reachable from the desktop, because another entry has its name")
            let fix = "rm \(quotedForShell(path))"
            return findings.add(.handlers, .warn, "foreign-entry", name, reason, file: path, fix: fix)
        }
        guard entry.handler == name, let command = entry.command, let problem = files.missingProgram(of: entry, command)
        else { return }
        let reason = translated("has a desktop entry that \(problem)")
        let directory = files.desktop.userApplicationDirectory
        addUnwritten("stale-entry", name, reason, in: directory, file: path, to: &findings)
    }

    private func checkService(of handler: Handler, _ findings: inout Findings) {
        let name = handler.id.rawValue
        guard let directory = files.desktop.serviceDirectories.first(where: { DBusServiceFile.exists(name, in: $0) })
        else {
            let reason = translated("has no D-Bus service file, so a call to its name does not start it")
            let first = files.desktop.serviceDirectories.first
            return addUnwritten("no-service-file", name, reason, in: first, .warn, to: &findings)
        }
        guard let program = DBusServiceFile.program(of: name, in: directory), !isRegularFile(program) else { return }
        let reason = translated("has a D-Bus service file that starts \(program), which does not exist")
        addUnwritten("stale-service", name, reason, in: directory, file: "\(directory)/\(name).service", to: &findings)
    }

    /// Adds a fault that the router fixes when it writes its files again, if it can write them.
    private func addUnwritten(
        _ check: String,
        _ subject: String,
        _ reason: String,
        in directory: String?,
        _ level: Finding.Level = .fail,
        file: String? = nil,
        to findings: inout Findings
    ) {
        if let obstacle = directory.flatMap(files.obstacle) {
            findings.add(
                .handlers,
                level,
                check,
                subject,
                translated("\(reason); it cannot be written, because \(obstacle)"),
                file: file
            )
        } else {
            findings.add(.handlers, level, check, subject, reason, file: file, fix: Self.reloading, repair: .reload)
        }
    }
}
