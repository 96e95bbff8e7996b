internal import DBus
internal import Processes
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Reports handlers' programs that took a name on the bus other than their identifier.
struct BusNameCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let bus = evidence.routerBus else { return }
        let names: [String]
        do throws(CallError) {
            names = try bus.names()
        } catch {
            return
        }
        var programs: [String: [Handler]] = [:]
        for handler in evidence.handlers {
            guard case .path(let path)? = handler.program, !names.contains(handler.id.rawValue) else { continue }
            programs[resolved(path), default: []].append(handler)
        }
        guard !programs.isEmpty else { return }
        for name in names.prefix(512) where !name.hasPrefix("org.freedesktop.") {
            guard let pid = bus.pid(of: name), let program = ProcessProgram.file(pid: pid),
                let owners = programs[program], owners.count == 1, files.registry.handler(named: name) == nil,
                Self.runsScript(of: owners[0], pid)
            else { continue }
            let id = owners[0].id.rawValue
            findings.add(
                .handlers,
                .fail,
                "bus-name",
                id,
                translated("runs as process \(pid) with the bus name \(name), so the router waits for \(id) in vain"),
                file: owners[0].path,
                fix: editing(owners[0].path)
            )
        }
    }

    /// Whether a process that runs a handler's program also runs the handler's script. An interpreter runs many
    /// programs, each with its own name.
    private static func runsScript(of handler: Handler, _ pid: UInt32) -> Bool {
        guard let script = handler.manifest.arguments.first, isRegularFile(script) else { return true }
        return ProcessFacts.arguments(pid: pid).contains(script)
    }
}
