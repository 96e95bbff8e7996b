internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations
internal import UserFiles

/// Compares this process's variables with those of the programs that the router starts.
struct EnvironmentCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let bus else { return }
        let manager = managerVariables(bus)
        guard var theirs = manager ?? router?.environment ?? daemonVariables(bus), !theirs.isEmpty else {
            return findings.add(
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
            let reason = translated("neither DISPLAY nor WAYLAND_DISPLAY is set here")
            findings.add(.session, .skip, "display", "DISPLAY", reason)
        }
        for name in displays {
            let mine = environment[name] ?? ""
            switch theirs[name] {
            case mine: findings.add(.session, .ok, "display", name, translated("is \(mine) in the session too"))
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
            return findings.add(
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
            findings.add(.session, level, check, name, message, fix: fix, repair: repair)
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
