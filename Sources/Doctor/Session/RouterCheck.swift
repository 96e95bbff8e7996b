internal import DBus
internal import Desktop
internal import OpenURLBus
internal import Release
internal import RouterProgram
internal import Translations
internal import UserFiles

/// Checks that the router is running, and that it is the installed program. By now, the bus has tried to start it.
struct RouterCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let bus else {
            let reason = translated("without a bus, there is no router")
            return findings.add(.session, .skip, "router", translated("router"), reason)
        }
        if let router {
            report(router, bus, &findings)
        } else if let failure = bus.startFailure {
            reportStartFailure(failure, &findings)
        } else {
            let reason = translated("is not running, and the bus has no service file that starts it")
            let program = quotedForShell(files.installation?.router ?? "openurld")
            findings.add(.session, .fail, "router", translated("router"), reason, fix: "\(program) &")
        }
    }

    /// Reports why the bus could not start the router.
    func reportStartFailure(_ failure: CallError, _ findings: inout Findings) {
        var services = DBusServiceNames(in: files.desktop.serviceDirectories)
        _ = services.update()
        let service = services[RouterService.name.rawValue]
        var reason = translated("is not running, and cannot be started: \(failure)")
        var fix: String? = quotedForShell(files.installation?.router ?? "openurld")
        if "\(failure)".contains("masked") {
            // systemd reports that the unit is masked.
            fix = "systemctl --user unmask openurld.service"
        } else if let service, let program = service.command.first, isAbsolute(program), !isRegularFile(program) {
            reason = translated("is not running, because its service file starts \(program), which does not exist")
            let isUsers = files.desktop.userServiceDirectory == parentDirectory(of: service.file)
            fix = isUsers ? "rm \(quotedForShell(service.file))" : nil
        }
        findings.add(.session, .fail, "router", translated("router"), reason, file: service?.file, fix: fix)
    }

    private func report(_ router: ProcessFacts, _ bus: SessionBus, _ findings: inout Findings) {
        let version = runningVersion(bus)
        findings.add(
            .session,
            .ok,
            "router",
            translated("router"),
            translated("openurld \(version ?? "?"), process \(router.pid), \(router.start)")
        )
        let identity = RouterIdentity { self.environment[$0] }
        if let warning = identity?.refusal(of: router.pid) {
            findings.add(.session, .fail, "stranger", translated("router"), warning, fix: "kill \(router.pid)")
        }
        guard let version else {
            let reason = translated("does not report its version")
            findings.add(.session, .fail, "version", translated("router"), reason, fix: "kill \(router.pid)")
            return
        }
        let installed = [("openurl", evidence.commandVersion), ("openurld", Version.current)]
        for (program, other) in installed where other != version {
            let isOurs = router.isUnit || router.isStartedByBus
            findings.add(
                .session,
                .warn,
                "version",
                translated("router"),
                translated("is running version \(version), but the installed \(program) is version \(other)"),
                fix: router.isUnit ? "systemctl --user restart openurld" : "kill \(router.pid)",
                repair: isOurs ? .restart(pid: router.pid) : nil
            )
            return
        }
    }

    private func runningVersion(_ bus: SessionBus) -> String? {
        do throws(CallError) {
            let interface = RouterInterface.version.interface.rawValue
            return try bus.property(interface, RouterInterface.version.name.rawValue, of: RouterService.object).string
        } catch {
            return nil
        }
    }
}
