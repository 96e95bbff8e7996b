internal import DBus
internal import Desktop
internal import Glibc
internal import OpenURLBus
internal import Release
internal import RouterProgram
internal import Translations
internal import UserFiles

/// Checks the bus, the router, and the environments of both.
extension Examination {
    func reportMissingBus(_ error: ConnectionError) {
        let reason = translated("cannot be reached: \(error)")
        if let address = BusAddress.missed(by: { environment[$0] }) {
            let fix = "export DBUS_SESSION_BUS_ADDRESS=\(quotedForShell(address))"
            add(.session, .fail, "bus", translated("session bus"), reason, fix: fix)
        } else {
            // Another bus would have another router, which the desktop's programs do not see.
            let isDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
            let message =
                isDesktop
                ? translated("\(reason); use a new terminal of the desktop, or log in again")
                : translated(
                    "\(reason); in a desktop, use one of its terminals; elsewhere, start a shell with its own bus"
                )
            let fix = isDesktop ? nil : "dbus-run-session -- \"${SHELL:-sh}\""
            add(.session, .fail, "bus", translated("session bus"), message, fix: fix)
        }
        add(.session, .skip, "router", translated("router"), translated("without a bus, there is no router"))
    }

    func checkSession(_ bus: SessionBus) {
        add(.session, .ok, "bus", translated("session bus"), "answers")
        checkPrefix(bus)
        if findRouter(bus) { checkRouter(bus) }
        checkPath()
        checkEnvironment(bus)
    }

    // MARK: The router

    private var serviceFile: String { "dbus-1/services/\(RouterService.name).service" }

    /// Reports an installation whose files the bus or the desktop does not find.
    private func checkPrefix(_ bus: SessionBus) {
        guard let installation = files.installation else { return }
        let service = "\(installation.share)/\(serviceFile)"
        guard isRegularFile(service) else { return }
        let isActivatable = bus.activatableNames.contains(RouterService.name.rawValue)
        if !isActivatable, let home = files.desktop.dataHome {
            let link = "\(home)/\(serviceFile)"
            add(
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
        add(
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

    /// Finds the router. By now, the bus has tried to start it.
    ///
    /// - Returns: whether a router is running.
    private func findRouter(_ bus: SessionBus) -> Bool {
        if let pid = bus.pid(of: RouterService.name.rawValue) {
            router = ProcessFacts(pid: pid)
            return true
        }
        let program = quotedForShell(files.installation?.router ?? "openurld")
        if let failure = bus.startFailure {
            reportStartFailure(failure)
        } else {
            let reason = translated("is not running, and the bus has no service file that starts it")
            add(.session, .fail, "router", translated("router"), reason, fix: "\(program) &")
        }
        return false
    }

    /// Reports why the bus could not start the router.
    func reportStartFailure(_ failure: CallError) {
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
        add(.session, .fail, "router", translated("router"), reason, file: service?.file, fix: fix)
    }

    private func checkRouter(_ bus: SessionBus) {
        guard let router else { return }
        let version = runningVersion(bus)
        add(
            .session,
            .ok,
            "router",
            translated("router"),
            translated("openurld \(version ?? "?"), process \(router.pid), \(router.start)")
        )
        let identity = RouterIdentity { self.environment[$0] }
        if let warning = identity?.refusal(of: router.pid) {
            add(.session, .fail, "stranger", translated("router"), warning, fix: "kill \(router.pid)")
        }
        guard let version else {
            let reason = translated("does not report its version")
            add(.session, .fail, "version", translated("router"), reason, fix: "kill \(router.pid)")
            return
        }
        for (program, other) in [("openurl", commandVersion), ("openurld", Version.current)] where other != version {
            let isOurs = router.isUnit || router.isStartedByBus
            add(
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

    private func checkPath() {
        guard let command = files.installation?.command else { return }
        guard let found = files.tool("openurl") else {
            return add(.session, .ok, "path", "PATH", translated("has no openurl; the command is \(command)"))
        }
        let isSame = resolved(found) == resolved(command)
        if isSame { return add(.session, .ok, "path", "PATH", translated("leads to \(found)")) }
        let directory = parentDirectory(of: command)
        add(
            .session,
            .warn,
            "path",
            "PATH",
            translated("leads to \(found), not to \(command), which is the one that you ran"),
            file: found,
            fix: "export PATH=\(quotedForShell(directory)):\"$PATH\""
        )
    }

    func resolved(_ path: String) -> String {
        do throws(FileError) {
            return try resolvedPath(path)
        } catch {
            return path
        }
    }

    // MARK: Variables

    /// Compares this process's variables with those of the programs that the router starts.
    private func checkEnvironment(_ bus: SessionBus) {
        let manager = managerVariables(bus)
        guard var theirs = manager ?? router?.environment ?? daemonVariables(bus), !theirs.isEmpty else {
            return add(
                .session,
                .skip,
                "environment",
                translated("variables"),
                translated("cannot be read from the session")
            )
        }
        theirs["HOME"] = theirs["HOME"] ?? environment["HOME"]
        var missing: [(name: String, level: Finding.Level, message: String)] = []
        let displays = ["DISPLAY", "WAYLAND_DISPLAY"].filter { environment[$0]?.isEmpty == false }
        if displays.isEmpty {
            add(.session, .skip, "display", "DISPLAY", translated("neither DISPLAY nor WAYLAND_DISPLAY is set here"))
        }
        for name in displays {
            let mine = environment[name] ?? ""
            switch theirs[name] {
            case mine: add(.session, .ok, "display", name, translated("is \(mine) in the session too"))
            case let other?:
                let message = translated("is \(mine) here, but \(other) for the programs that the router starts")
                missing.append((name, .warn, message))
            case nil:
                let message = translated("is \(mine) here, but not set for the programs that the router starts")
                missing.append((name, .fail, message))
            }
        }
        let base = (mine: BaseDirectories(environment: environment), theirs: BaseDirectories(environment: theirs))
        let lost = base.mine.dataDirectories.filter { !base.theirs.dataDirectories.contains($0) && isUsed($0) }
        if !lost.isEmpty {
            let reason = translated("the session's list lacks \(lost.joined(separator: ", "))")
            missing.append(("XDG_DATA_DIRS", .fail, reason))
        }
        let homes = [
            ("XDG_DATA_HOME", base.mine.dataHome, base.theirs.dataHome),
            ("XDG_CONFIG_HOME", base.mine.configurationHome, base.theirs.configurationHome),
        ]
        for (name, mine, theirs) in homes where mine != theirs {
            let nothing = translated("nothing")
            let message = translated("points to \(mine ?? nothing) here, but to \(theirs ?? nothing) in the session")
            missing.append((name, .fail, message))
        }
        if missing.isEmpty {
            return add(
                .session,
                .ok,
                "environment",
                translated("variables"),
                translated("point to the same files here and in the session")
            )
        }
        let names = missing.map(\.name).filter { environment[$0] != nil }
        for (name, level, message) in missing {
            let (fix, repair) = importing(names, hasManager: manager != nil)
            let check = name.hasSuffix("DISPLAY") ? "display" : "environment"
            add(.session, level, check, name, message, fix: fix, repair: repair)
        }
    }

    /// Returns the command that passes variables to the session, and the repair that does the same.
    private func importing(_ names: [String], hasManager: Bool) -> (fix: String, repair: Repair?) {
        let list = names.joined(separator: " ")
        if hasManager {
            return ("dbus-update-activation-environment --systemd \(list)", .environment(names, router: nil))
        }
        guard let router else {
            return ("dbus-update-activation-environment \(list)", .environment(names, router: nil))
        }
        guard router.isStartedByBus else {
            let program = quotedForShell(files.installation?.router ?? "openurld")
            return ("kill \(router.pid); \(program) &", nil)
        }
        let command = "dbus-update-activation-environment \(list) && kill \(router.pid)"
        return (command, .environment(names, router: router.pid))
    }

    /// Returns whether a data directory has files on which URLs depend.
    private func isUsed(_ directory: String) -> Bool {
        ["openurl/handlers", "applications", "dbus-1/services"].contains { access("\(directory)/\($0)", F_OK) == 0 }
    }

    /// Returns the variables in systemd's manager; nil if there is no manager.
    private func managerVariables(_ bus: SessionBus) -> [String: String]? {
        guard bus.owner(of: SystemdManager.name) != nil else { return nil }
        do throws(CallError) {
            let environment = SystemdManager.environment
            let name = environment.name.rawValue
            let value = try bus.property(environment.interface.rawValue, name, of: SystemdManager.object)
            guard case .array(let entries, _) = value else { return nil }
            return Dictionary(ofVariables: entries.compactMap(\.string))
        } catch {
            return nil
        }
    }

    /// Returns the variables with which the bus itself was started.
    private func daemonVariables(_ bus: SessionBus) -> [String: String]? {
        bus.pid(of: BusName.bus.rawValue).map { ProcessFacts(pid: $0).environment }
    }
}
