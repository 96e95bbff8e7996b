internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor

/// Takes the handler from active to inactive and back, while it stays in the foreground (Figure 3-4).
extension HandlerSession {
    /// Interrupts the handler, unless it is not active. Returns when its delegate has been told.
    ///
    /// - Throws: why the process has ended, if it has.
    func interrupt() async throws(OpenURLError) {
        handle(.interrupted)
        await activityNotice?.value
        switch machine.state {
        case .running, .suspending, .suspended, .waking: return
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .ending:
            throw processes.verdict ?? OpenURLError(.handlerCrashed, "\(id) exited when it was interrupted")
        }
    }

    /// Makes the handler active again, unless it is not interrupted. Returns when its delegate has been told.
    func resume() async {
        handle(.resumed)
        await activityNotice?.value
    }

    /// Brings the handler back to the foreground after it was only in the background because the machine slept.
    ///
    /// It is not asked to show itself, because its windows are where its user has left them.
    func comeBack() async throws(OpenURLError) {
        let request = OpenRequest.comingBack()
        try accept(request)
        defer { leave(request) }
        request.complete()
        _ = try await deliver(request)
    }

    /// Tells the handler whether it is active.
    func tell(_ owner: BusName, isActive: Bool) {
        let method = isActive ? HandlerInterface.becomeActive : HandlerInterface.resignActive
        let process = process
        let transition = process.begin(method.name)
        watchdog.startTransition()
        activityNotice = host.tasks.start {
            do throws(CallError) {
                let time = self.host.limits.eventTimeout
                if isActive {
                    try await self.host.bus.becomeActive(self.id, at: owner, timeout: time)
                } else {
                    try await self.host.bus.resignActive(self.id, at: owner, timeout: time)
                }
            } catch {
                let reason = self.withoutSecrets("\(error)")
                self.host.log.warning("\(method.name) of \(self.id) failed: \(reason)")
            }
            process.end(transition)
        }
    }
}
