internal import DBus
internal import DequeModule
internal import Logging
internal import OpenURLBus
internal import Reactor

/// Performs the effects that the handler's machine asks for.
extension HandlerSession {
    func perform(_ effect: HandlerStateMachine.Effect) {
        switch effect {
        case .lookForOwner: startTask { await self.processes.lookForOwner() }
        case .launch: launch.start()
        case .identify(let owner):
            // A process that waits for its first message does not hang. When the message comes, it starts the watchdog
            // again.
            if requests.waiting.isEmpty {
                timers.launch.cancel()
                shared.launches.ended(id)
            }
            processes.identify(owner)
            foregroundCheck.leaveIfUnused()
        case .deliver: deliverWaiting()
        case .failWaiting(let error): failWaiting(error)
        case .failLaunch(let failure):
            let error = launch.error(of: failure)
            if failure == .nameNotTaken { process.endReason = withoutSecrets(error.text).description }
            failWaiting(error)
        case .checkProgress: watchdog.checkProgress()
        case .takeForeground: shared.clearForeground(except: id)
        case .resignActive(let owner): activity.tell(owner, isActive: false)
        case .becomeActive(let owner): activity.tell(owner, isActive: true)
        case .enterBackground(let owner): startTask { await self.background.enter(owner) }
        case .scheduleSuspension: background.scheduleSuspension()
        case .askToSuspend(let owner): startTask { await self.background.askToSuspend(owner) }
        case .stop:
            process.stop()
        case .resume:
            process.resume()
            for request in requests.waiting {
                request.causedWake = true
                request.addPhase("processResumed")
            }
        case .startTimer: timers.start(timers.state, in: machine.transitionTimeout, .timeOver)
        case .startNameTimer: timers.start(timers.name, in: machine.transitionTimeout, .nameTimeOver)
        case .wakeIfWaiting: if !requests.waiting.isEmpty { handle(.requested) }
        case .terminate: processes.terminate()
        case .kill: processes.kill()
        case .killLate: processes.killLate()
        case .blame(let error):
            let reason = withoutSecrets(error.text)
            shared.log.warning("\(reason)", metadata: ["handler": "\(id)"])
            process.endReason = reason.description
            processes.verdict = error
        case .startEndWatchdog:
            timers.cancelProcessTimers()
            let hasExited = process.handle?.exit != nil
            timers.start(timers.end, in: hasExited ? shared.limits.nameTimeout : shared.limits.endTimeout, .endTimedOut)
        case .endDescendants: processes.endDescendants()
        case .restartIfWaiting:
            timers.cancelProcessTimers()
            background.stopTimer()
            watchdog.stop()
            processes.forget()
            guard !requests.waiting.isEmpty else { return }
            processes.name.askNextTime()
            handle(.requested)
        }
    }

    private func failWaiting(_ error: OpenURLError) {
        timers.cancelProcessTimers()
        shared.log.warning("\(withoutSecrets(error.text))", metadata: ["handler": "\(id)"])
        requests.fail(error)
    }
}
