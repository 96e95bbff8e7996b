internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The watchdog of a running handler: it notices a delegate method that does not return.
///
/// Each method on the way to the foreground or to the background has the transition time limit, and so has the launch its
/// own. `open` may use its whole time limit. After that, the handler is still healthy if its main actor answers: a method that
/// waits for something is slow, and does not hang.
extension HandlerSession {
    /// Whether the handler has something to answer.
    private var isExpectedToAnswer: Bool {
        if case .running(_, .leaving) = machine.state { return true }
        return hasURLs
    }

    /// Whether the handler has more to do than to go to the background.
    private var hasURLs: Bool { !requests.inHand.isEmpty || process.isBusy }

    /// The time limit for the answer to one URL, if the sender sets none.
    var openTimeout: Duration { handler.manifest.openTimeout ?? host.limits.openTimeout }

    /// Starts the watchdog if it does not run. The handler has just got something to answer.
    func startWatchdog() {
        if !watchdog.isRunning { startWatchdog(in: machine.transitionTimeout) }
    }

    private func startWatchdog(in time: Duration) {
        // A limit that has just been reached must not make the watchdog ask without a pause.
        watchdog.start(in: max(time, .milliseconds(1))) { [weak self] in self?.checkProgress() }
    }

    /// Asks the handler for its progress, if the handler has something to answer.
    func checkProgress() {
        guard let owner, isExpectedToAnswer else { return }
        // The answer to this question starts the watchdog again.
        watchdog.cancel()
        host.tasks.start { await self.checkProgress(of: owner) }
    }

    private func checkProgress(of owner: BusName) async {
        let now = SuspendingClock.now
        do throws(CallError) {
            let (phase, microseconds) = try await host.bus.progress(
                of: id,
                at: owner,
                timeout: machine.transitionTimeout
            )
            if self.owner == owner { process.silentSince = nil }
            await judge(phase, .microseconds(Int64(clamping: microseconds)), of: owner)
        } catch .remote(let error) {
            // The handler is in another language, and it answers.
            host.log.debug("\(id) does not tell its progress: \(error)")
            guard !hasURLs, let start = process.leavingSince else {
                return continueWatch(of: owner, in: machine.transitionTimeout)
            }
            let left = machine.transitionTimeout - start.duration(to: .now)
            if left > .zero { return continueWatch(of: owner, in: left) }
            hangs(owner, "EnterBackground of \(id) did not return within \(machine.transitionTimeout.inWords)")
        } catch .timedOut {
            guard self.owner == owner else { return }
            // A handler with one thread cannot answer while its `open` works.
            let silence = (process.silentSince ?? now).duration(to: .now)
            process.silentSince = process.silentSince ?? now
            if silence < (hasURLs ? openTimeout : machine.transitionTimeout) {
                continueWatch(of: owner, in: .zero)
            } else {
                hangs(owner, "\(id) has not answered for \(silence.inWords)")
            }
        } catch {
            // The connection has ended, or the process ends.
            host.log.debug("\(id) does not tell its progress: \(error)")
        }
    }

    /// Decides about a delegate method that has been running for a time.
    private func judge(_ phase: String, _ time: Duration, of owner: BusName) async {
        let limit: Duration
        if HandlerInterface.launchPhases.contains(phase) {
            limit = machine.launchTimeout
        } else if HandlerInterface.transitionPhases.contains(phase) {
            limit = machine.transitionTimeout
        } else if phase == HandlerInterface.openPhase {
            limit = openTimeout
        } else {
            return continueWatch(of: owner, in: machine.transitionTimeout)
        }
        guard time >= limit || isLaunchOver(in: phase) else { return continueWatch(of: owner, in: limit - time) }
        var reason = "\(phase) of \(id) did not return within \(limit.inWords)"
        if HandlerInterface.launchPhases.contains(phase) { reason += " of the launch" }
        // The sender learns that the handler has acted on the URL.
        if phase == HandlerInterface.activationPhase, requests.isOpening { reason += " after open had returned" }
        guard phase == HandlerInterface.openPhase else { return hangs(owner, reason) }
        do throws(CallError) {
            try await host.bus.check(id, at: owner, timeout: machine.transitionTimeout)
            continueWatch(of: owner, in: machine.transitionTimeout)
        } catch .timedOut {
            hangs(owner, "\(reason), and its main actor does not answer")
        } catch {
            continueWatch(of: owner, in: machine.transitionTimeout)
        }
    }

    /// Whether the launch has used up its time, which began with the start of the process.
    private func isLaunchOver(in phase: String) -> Bool {
        HandlerInterface.launchPhases.contains(phase) && process.isChild && !process.hasAnswered
            && process.launchDeadline.map { $0 <= .now } ?? false
    }

    private func continueWatch(of owner: BusName, in time: Duration) {
        guard self.owner == owner, isExpectedToAnswer, !watchdog.isRunning else { return }
        startWatchdog(in: time)
    }

    /// Ends a handler that hangs, unless its process is not the router's to kill, or a debugger or a person has stopped it.
    private func hangs(_ owner: BusName, _ reason: String) {
        guard self.owner == owner else { return }
        if process.isVerified, !process.isHeld { return handle(.hangs(owner: owner, reason)) }
        host.log.warning("\(reason); its process is left alone", metadata: ["handler": "\(id)"])
        process.isSuspendable = false
        handle(.reachedBackground(owner: owner))
    }

    // MARK: A handler that is busy

    /// Gives the handler no other URL until it has finished the events that it has got. A URL has used up its time limit.
    func becomesBusy(_ owner: BusName) {
        guard self.owner == owner, !process.isBusy else { return }
        process.isBusy = true
        startWatchdog()
        host.tasks.start { [self] in
            do throws(CallError) {
                // The handler answers a notification of nothing when all earlier events are done.
                try await host.bus.notify([:], id, at: owner, timeout: host.limits.eventTimeout)
            } catch {
                host.log.debug("\(id) does not take notifications: \(error)")
            }
            guard machine.connection == owner else { return }
            process.isBusy = false
            deliverWaiting()
        }
    }
}
