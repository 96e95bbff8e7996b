internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor

/// The words for the failures of a handler's process.
extension HandlerSession {
    /// Returns a text that the handler has written, without the secrets of its latest URLs. The text may be about a URL of any
    /// sender.
    func withoutSecrets(_ text: QuotingText) -> QuotingText {
        host.withoutSecrets(text, of: id)
    }

    private func hint(_ output: ProcessOutput) -> QuotingText { withoutSecrets(output.hint) }

    // MARK: Launch

    func launchError(_ failure: HandlerStateMachine.LaunchFailure) -> OpenURLError {
        switch failure {
        case .processEnded(let exit):
            return OpenURLError(.launchFailed, "\(id) \(exit) before it was ready\(hint(process.output))")
        case .nameNotTaken:
            let time = machine.launchTimeout.inWords
            return OpenURLError(
                .timedOut,
                "\(id) did not take its name on the bus within \(time) of its start\(otherNames); "
                    + "its process was killed\(hint(process.output))"
            )
        }
    }

    /// The names that the process took instead, in words; at most three of them.
    var otherNames: QuotingText {
        guard !process.otherNames.isEmpty else { return "" }
        var words = process.otherNames.prefix(3).map(\.rawValue)
        let rest = process.otherNames.count - words.count
        if rest > 0 { words.append(rest == 1 ? "1 other" : "\(rest) others") }
        return ", but took \(words.joined(separator: " and "))"
    }

    /// The time limit of the launch is over. If the handler's name has no owner, the bus is asked which other names the process
    /// has taken.
    func launchTimeIsOver() {
        guard machine.state == .starting, let running = process.running else { return handle(.launchTimedOut) }
        // The process that the router started, and its descendants.
        findOtherNames(of: { getsid($0) == running.pid }) { self.handle(.launchTimedOut) }
    }

    /// Asks the bus, within ``RouterLimits/otherNamesTime``, which names some processes have taken, if the handler's name still
    /// has no owner then.
    ///
    /// - Parameter finish: called once, with the names in the process; not called if the launch ends meanwhile.
    func findOtherNames(of isMeant: @escaping (pid_t) -> Bool, then finish: @escaping () -> Void) {
        let launched = process
        timers.launch.start(in: host.limits.otherNamesTime, finish)
        host.tasks.start { [self] in
            await findOtherNames(of: isMeant, for: launched)
            guard isWaitingForNames(launched) else { return }
            timers.launch.cancel()
            finish()
        }
    }

    /// Whether the time is not over in which the bus is asked for the names of a process.
    private func isWaitingForNames(_ launched: HandlerProcess) -> Bool {
        machine.state == .starting && process === launched && timers.launch.isRunning
    }

    /// Finds the names that some processes own. If the time is over before, the names found so far stay.
    private func findOtherNames(of isMeant: (pid_t) -> Bool, for launched: HandlerProcess) async {
        launched.otherNames = []
        do throws(CallError) {
            for name in try await host.bus.names().sorted(by: { $0.rawValue < $1.rawValue }) where !name.isUnique {
                guard isWaitingForNames(launched) else { return }
                let isOwned = try await isOwned(name, by: isMeant)
                if isOwned, isWaitingForNames(launched) { launched.otherNames.append(name) }
            }
        } catch {
            host.log.debug("the bus did not report the names that \(id) took: \(error)")
        }
    }

    private func isOwned(_ name: BusName, by isMeant: (pid_t) -> Bool) async throws(CallError) -> Bool {
        do throws(CallError) {
            return try await host.bus.credentials(of: name).pid.flatMap { pid_t(exactly: $0) }.map(isMeant) == true
        } catch .remote {
            // The name has lost its owner.
            return false
        }
    }

    // MARK: Crash

    /// The error for a request that a process had in hand when its connection ended.
    ///
    /// The bus may tell the end of the connection before the kernel tells the exit of the process, so the exit is waited for.
    func crashError(behind connection: BusName) async -> OpenURLError {
        let (exit, output) = await end(behind: connection)
        let words: QuotingText = exit.map { "\($0)" } ?? "left the bus"
        return OpenURLError(
            .handlerCrashed,
            "\(id) \(words) before it answered; it may have acted on the URL\(hint(output))"
        )
    }

    /// The way in which the process of a connection that is gone ended, and the place of its output. The way is nil if the process
    /// still runs after a second.
    private func end(behind connection: BusName) async -> (exit: ProcessExit?, output: ProcessOutput) {
        guard let ownerProcess, ownerProcess.owner == connection else { return (.unknown, .nowhere) }
        let pid = CInt(truncatingIfNeeded: ownerProcess.handler)
        guard let handle = process.handle, handle.pid == pid else {
            guard let endedProcess, endedProcess.pid == pid else { return (.unknown, .nowhere) }
            return (endedProcess.exit, endedProcess.output)
        }
        let output = process.output
        _ = await wait(for: .seconds(1)) { _ in handle.exit != nil }
        return (handle.exit, output)
    }
}
