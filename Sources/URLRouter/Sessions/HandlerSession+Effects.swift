internal import CLinux
internal import DBus
internal import DequeModule
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor

/// The effects that the handler's machine asks for.
extension HandlerSession {
    func perform(_ effect: HandlerStateMachine.Effect) {
        switch effect {
        case .lookForOwner: host.tasks.start { await self.lookForOwner() }
        case .launch: launch()
        case .identify(let owner):
            let hadTasks = !process.tasks.isEmpty
            process = process.withNewConnection
            if hadTasks { background.recordTasks() }
            verdict = nil
            timers.background.cancel()
            // A process that waits for its first message does not hang. The first message starts the watchdog again.
            if requests.waiting.isEmpty { timers.launch.cancel() }
            identify(owner)
        case .deliver: deliverWaiting()
        case .failWaiting(let error): failWaiting(error)
        case .failLaunch(let failure): failWaiting(launchError(failure))
        case .checkProgress: watchdog.checkProgress()
        case .takeForeground: host.clearForeground(except: id)
        case .enterBackground(let owner): host.tasks.start { await self.background.enter(owner) }
        case .scheduleSuspension: background.scheduleSuspension()
        case .askToSuspend(let owner): host.tasks.start { await self.background.askToSuspend(owner) }
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
        case .terminate:
            process.isEnded = process.isRoutersToEnd
            if process.isRoutersToEnd {
                process.handle?.send(signal: SIGTERM)
            } else if let owner = machine.connection {
                host.tasks.start { await self.askToEnd(owner) }
            }
        case .kill:
            process.isEnded = true
            killProcess()
        case .blame(let error):
            host.log.warning("\(withoutSecrets(error.text))", metadata: ["handler": "\(id)"])
            verdict = error
        case .startEndWatchdog:
            timers.cancelProcessTimers()
            let hasExited = process.handle?.exit != nil
            timers.start(timers.end, in: hasExited ? host.limits.nameTimeout : host.limits.endTimeout, .endTimedOut)
        case .endDescendants: endDescendants()
        case .restartIfWaiting:
            timers.cancelProcessTimers()
            timers.background.cancel()
            watchdog.stop()
            if let handle = process.handle, let exit = handle.exit { endedProcess = (handle.pid, exit, process.output) }
            process = HandlerProcess()
            guard !requests.waiting.isEmpty else { return }
            name.askNextTime()
            handle(.requested)
        }
    }

    private func failWaiting(_ error: OpenURLError) {
        timers.cancelProcessTimers()
        host.log.warning("\(withoutSecrets(error.text))", metadata: ["handler": "\(id)"])
        requests.fail(error)
    }
}
