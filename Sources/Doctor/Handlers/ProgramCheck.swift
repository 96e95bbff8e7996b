internal import Desktop
internal import Glibc
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks that each handler's program can be started.
struct ProgramCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        for handler in evidence.handlers { check(handler, &findings) }
    }

    /// Reports a program that a launch could not start.
    private func check(_ handler: Handler, _ findings: inout Findings) {
        let id = handler.id.rawValue
        let searchPath = handler.manifest.environment["PATH"] ?? router?.environment["PATH"] ?? environment["PATH"]
        let path: String
        switch handler.program {
        case nil: return
        case .path(let text): path = text
        case .desktopEntry(let entry):
            if files.registry.applications[entry]?.isDBusActivatable != true {
                let reason = translated(
                    "names \(entry) as OUDesktopEntry, but the desktop has no such entry with DBusActivatable=true"
                )
                let fix = editing(handler.path)
                findings.add(.handlers, .fail, "program", id, reason, file: handler.path, fix: fix)
            }
            return
        case .nameOnPath(let name):
            guard let found = programPath(named: name, in: searchPath) else {
                if let here = programPath(named: name, in: environment["PATH"]) {
                    findings.add(
                        .handlers,
                        .fail,
                        "program",
                        id,
                        translated("needs \(name), which is on PATH here but not in the session"),
                        file: here,
                        fix: "dbus-update-activation-environment PATH" + (router.map { " && kill \($0.pid)" } ?? ""),
                        repair: router?.isStartedByBus == true ? .environment(["PATH"], router: router?.pid) : nil
                    )
                } else {
                    let fix = editing(handler.path)
                    let reason = translated("needs \(name), which is not on PATH")
                    findings.add(.handlers, .fail, "program", id, reason, file: handler.path, fix: fix)
                }
                return
            }
            path = found
        }
        guard let fault = ProgramFault(ofProgram: path, searchPath: searchPath) else {
            return checkTrust(ofProgram: path, of: id, &findings)
        }
        let check = fault.isInterpreter ? "interpreter" : "program"
        guard let advice = fault.advice else {
            let isMissing = access(path, F_OK) != 0
            let key = handler.manifest.command == nil ? "CFBundleExecutable" : "OUCommand"
            let fact = translated("needs \(path), which \(fault.reason)")
            let reason = isMissing ? RemovableMedia.withQuestion(fact, aboutAbsenceOf: path) : fact
            findings.add(
                .handlers,
                .fail,
                check,
                id,
                translated("\(reason); put the program back, or correct \(key) in \(handler.path)"),
                file: path,
                fix: editing(handler.path)
            )
            return
        }
        let reason = translated("needs \(path), which \(fault.reason)")
        findings.add(
            .handlers,
            .fail,
            check,
            id,
            fault.command == nil ? "\(reason); \(advice)" : reason,
            file: path,
            fix: fault.command ?? (fault.isInterpreter ? editing(path, line: 1) : nil)
        )
    }

    /// Reports a program that other users can change, because a launch refuses it.
    private func checkTrust(ofProgram path: String, of id: String, _ findings: inout Findings) {
        guard let distrust = TrustedPaths.distrust(ofProgram: path) else { return }
        let reason = translated("needs \(path), which \(distrust)")
        findings.add(.handlers, .fail, "program", id, reason, file: path, fix: repairing(path))
    }
}
