internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations

/// Reports handlers in quarantine, and processes that were started by hand.
struct StateCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard let bus = evidence.routerBus else { return }
        let states: [HandlerStatus]
        do throws(CallError) {
            states = try bus.call(LifecycleInterface.list, on: RouterService.object, Empty())
        } catch {
            return findings.add(
                .handlers,
                .skip,
                "states",
                translated("router"),
                translated("could not list the states of the handlers: \(error)")
            )
        }
        for state in states where topic?.identifier == nil || topic?.identifier == state.id {
            if let end = state.quarantinedUntil {
                let seconds = max(Int(end) - time(nil), 1)
                findings.add(
                    .handlers,
                    .fail,
                    "quarantine",
                    state.id,
                    translated(
                        seconds,
                        one: "crashed too often, so it will not be started for another \(seconds) second",
                        other: "crashed too often, so it will not be started for another \(seconds) seconds"
                    ),
                    fix: "openurl activate --reset \(state.id)",
                    repair: .quarantine(id: state.id)
                )
            }
            if let pid = state.pid, !state.isRegistered {
                findings.add(
                    .handlers,
                    .warn,
                    "unregistered",
                    state.id,
                    translated("is no longer registered, but its process \(pid) is still running"),
                    fix: "openurl terminate \(state.id)"
                )
            } else if let pid = state.pid, !state.isVerified, state.temporary != .known(.claim) {
                findings.add(
                    .handlers,
                    .warn,
                    "by-hand",
                    state.id,
                    translated(
                        "was started by hand as process \(pid), so it gets URLs without a check of its identity"
                    ),
                    fix: "kill \(pid)"
                )
            }
        }
    }
}
