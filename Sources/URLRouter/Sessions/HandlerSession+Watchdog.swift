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
    var openTimeout: Duration { handler.openTimeout ?? host.limits.openTimeout }

    /// The time that `open` may take now. A sender may give the handler more time than usual; the senders behind it may not.
    private var openLimit: Duration {
        guard !process.isBusy, let first = requests.firstInHand else { return openTimeout }
        return min(max(openTimeout, first.timeout), host.limits.eventTimeout)
    }

    /// The time before the first question for the progress, and the time limit of each answer. A handler with one thread answers
    /// nothing while a method works, and the two together are the time limit of a method.
    private var questionTime: Duration { machine.transitionTimeout / 2 }

    /// Starts the watchdog if it does not run. The handler has just got something to answer.
    func startWatchdog() {
        if !watchdog.isRunning { startWatchdog(in: questionTime) }
    }

    /// Starts the watchdog for the way to the background, whose time begins now.
    func startTransitionWatchdog() { startWatchdog(in: questionTime) }

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
        let asked = SuspendingClock.now
        let progress: Result<(String, UInt64), CallError>
        do throws(CallError) {
            progress = .success(try await host.bus.progress(of: id, at: owner, timeout: questionTime))
        } catch {
            progress = .failure(error)
        }
        guard self.owner == owner else { return }
        if case .failure(.timedOut) = progress {} else { process.silentSince = nil }
        // The handler may have answered everything meanwhile.
        guard isExpectedToAnswer else { return process.silentSince = nil }
        switch progress {
        case .success(let (phase, microseconds)):
            await judge(phase, .microseconds(Int64(clamping: microseconds)), of: owner)
        case .failure(.timedOut) where !hasURLs:
            judgeTransition(of: owner)
        case .failure(.timedOut):
            // A handler with one thread cannot answer while its `open` works.
            let start = process.silentSince ?? max(asked, process.answeredAt ?? asked)
            process.silentSince = start
            let silence = start.duration(to: .now)
            guard silence >= openLimit else {
                return continueWatch(of: owner, in: .zero)
            }
            hangs(owner, "\(id) has not answered for \(Duration.seconds(silence.components.seconds).inWords)")
        case .failure(let error):
            // The handler is in another language, and it answers; or the process ends.
            host.log.debug("\(id) did not report its progress: \(error)")
            judgeTransition(of: owner)
        }
    }

    /// Decides about a handler that does not tell its progress.
    private func judgeTransition(of owner: BusName) {
        guard case .running(owner, .leaving) = machine.state, !hasURLs, let start = process.leavingSince else {
            return continueWatch(of: owner, in: machine.transitionTimeout)
        }
        let left = machine.transitionTimeout - start.duration(to: .now)
        if left > .zero { return watchdog.start(in: left) { [weak self] in self?.judgeTransition(of: owner) } }
        hangs(owner, "EnterBackground of \(id) did not return within \(machine.transitionTimeout.inWords)")
    }

    /// Decides about a delegate method that has been running for a time.
    private func judge(_ phase: String, _ time: Duration, of owner: BusName) async {
        let limit: Duration
        if HandlerInterface.launchPhases.contains(phase) {
            limit = machine.launchTimeout
        } else if HandlerInterface.transitionPhases.contains(phase) {
            limit = machine.transitionTimeout
        } else if phase == HandlerInterface.openPhase {
            limit = openLimit
        } else {
            return continueWatch(of: owner, in: machine.transitionTimeout)
        }
        guard time >= limit || isLaunchOver(in: phase) else { return continueWatch(of: owner, in: limit - time) }
        var reason: QuotingText = "\(QuotingText(stringLiteral: phase)) of \(id) did not return within \(limit.inWords)"
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

    /// The method that keeps a sender waiting whose time limit is over: the one in which the handler says that it is, or else the
    /// one that the sender waits for.
    func unfinishedMethod(of request: OpenRequest, at owner: BusName) async -> QuotingText {
        let method: QuotingText = request.purpose == .open ? "open" : "the activation"
        do throws(CallError) {
            let (phase, _) = try await host.bus.progress(of: id, at: owner, timeout: host.limits.phaseTime)
            guard HandlerInterface.launchPhases.union(HandlerInterface.transitionPhases).contains(phase) else {
                return method
            }
            // One of the contract's own words.
            return QuotingText(stringLiteral: phase)
        } catch {
            host.log.debug("\(id) did not report its progress: \(error)")
            return method
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

    /// Ends a handler that hangs, unless its process is not the router's to kill, or a debugger or a person holds the process.
    private func hangs(_ owner: BusName, _ reason: QuotingText) {
        guard self.owner == owner, isExpectedToAnswer else { return }
        process.silentSince = nil
        guard process.isRoutersToEnd, !process.isHeld else {
            host.log.warning("\(reason); its process keeps running", metadata: ["handler": "\(id)"])
            return handle(.reachedBackground(owner: owner))
        }
        // A handler runs one event after the other, so a new process may get the URLs behind the one that hangs. The first may
        // have begun, even if an earlier URL has used up its time.
        requests.redeliverAllButFirst()
        handle(.hangs(owner: owner, reason))
    }

    /// A handler that has just answered is not silent, even if an earlier question is still open.
    func noteAnswer(_ answer: Result<OpenAnswer, CallError>, of owner: BusName) {
        if case .failure(.timedOut) = answer { return }
        guard self.owner == owner else { return }
        process.silentSince = nil
        process.answeredAt = .now
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
                host.log.debug("\(id) did not take notifications: \(error)")
            }
            guard machine.connection == owner else { return }
            process.isBusy = false
            deliverWaiting()
        }
    }
}
