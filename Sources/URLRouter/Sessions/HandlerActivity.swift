internal import DBus
internal import Logging
internal import OpenURLBus

/// Takes a handler from active to inactive and back, while it stays in the foreground (Figure 3-4).
///
/// It belongs to the router's actor.
final class HandlerActivity {
    private let id: BusName
    private let shared: SharedParts
    private let watchdog: ProgressWatchdog
    private let processes: HandlerProcesses
    private unowned let session: any SessionView
    /// The latest task that has told the handler whether it is active.
    private var notice: Task<Void, Never>?

    init(
        _ id: BusName,
        _ shared: SharedParts,
        _ watchdog: ProgressWatchdog,
        _ processes: HandlerProcesses,
        _ session: any SessionView
    ) {
        self.id = id
        self.shared = shared
        self.watchdog = watchdog
        self.processes = processes
        self.session = session
    }

    /// Interrupts the handler, unless it is not active. Returns when its delegate has been told.
    ///
    /// - Throws: why the process has ended, if it has.
    func interrupt() async throws(OpenURLError) {
        let session = session
        session.handle(.interrupted)
        await notice?.value
        switch session.machine.state {
        case .running, .suspending, .suspended, .waking: return
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .ending:
            throw processes.verdict ?? OpenURLError(.handlerCrashed, "\(id) exited when it was interrupted")
        }
    }

    /// Makes the handler active again, unless it is not interrupted. Returns when its delegate has been told.
    func resume() async {
        session.handle(.resumed)
        await notice?.value
    }

    /// Tells the handler whether it is active.
    func tell(_ owner: BusName, isActive: Bool) {
        let method = isActive ? HandlerInterface.becomeActive : HandlerInterface.resignActive
        let process = session.process
        let transition = process.begin(method.name)
        watchdog.startTransition()
        notice = shared.tasks.start { [self, session] in
            do throws(CallError) {
                let time = shared.limits.eventTimeout
                if isActive {
                    try await shared.bus.becomeActive(id, at: owner, timeout: time)
                } else {
                    try await shared.bus.resignActive(id, at: owner, timeout: time)
                }
            } catch {
                let reason = shared.withoutSecrets("\(error)", of: id)
                shared.log.warning("\(method.name) of \(id) failed: \(reason)")
            }
            process.end(transition)
            withExtendedLifetime(session) {}
        }
    }
}
