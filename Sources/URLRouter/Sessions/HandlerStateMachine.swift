internal import DBus
internal import OpenURLBus
internal import Reactor

/// The life of a handler's process as a pure value: an event goes in, and the effects to perform come out.
///
/// A handler never has two processes. The router starts one only if the handler's name has no owner and none of the
/// handler's processes is left. If the name has an owner, that owner is the handler, even if another program started
/// the process: the session does not report any other owners.
///
/// Every `switch` over events or states is exhaustive: after a new state or event is added, the code does not compile
/// until each of them handles it.
struct HandlerStateMachine {
    let id: String
    /// Time limit for the next launch.
    var launchTimeout: Duration
    /// Time limit for preparing to be stopped, and for waking. Error messages mention it.
    var transitionTimeout: Duration
    /// Whether the handler exits instead of going to the background (`UIApplicationExitsOnSuspend`).
    var exitsOnSuspend = false
    /// Whether a woken handler gets URLs before it owns its name again.
    var getsURLsBeforeName = false
    private(set) var state = State.notRunning
    /// A woken connection that already gets URLs but does not own its name yet. Meanwhile, the handler is considered
    /// running.
    private(set) var woken: BusName?

    init(id: String, launchTimeout: Duration, transitionTimeout: Duration) {
        self.id = id
        self.launchTimeout = launchTimeout
        self.transitionTimeout = transitionTimeout
    }

    /// The connection that gets the handler's URLs, as long as the handler takes any.
    var owner: BusName? {
        if case .running(let owner, _) = state { owner } else { nil }
    }

    /// The connection of the handler's process, no matter whether it takes URLs now.
    var connection: BusName? {
        switch state {
        case .running(let owner, _), .suspending(let owner), .suspended(let owner), .waking(let owner): owner
        case .ending(let owner): owner
        case .notRunning, .lookingForOwner, .starting, .lostProcess: nil
        }
    }

    /// Moves to the state that follows from an event.
    ///
    /// - Parameter hasProcess: whether the session has a process that is still running: either the one that it started,
    ///   or the one that owns the name.
    /// - Returns: the effects to perform, in order.
    mutating func on(_ event: Event, hasProcess: Bool) -> [Effect] {
        defer { if owner != woken { woken = nil } }
        return effects(of: event, hasProcess)
    }

    private mutating func effects(of event: Event, _ hasProcess: Bool) -> [Effect] {
        switch event {
        case .requested: requested()
        case .delivers(let inBackground): delivers(inBackground)
        case .found(let owner): found(owner)
        case .ownerChanged(let owner): ownerChanged(owner, hasProcess)
        case .foundStranger(let error): foundStranger(error)
        case .launchFailed(let error): launchFailed(error)
        case .exited(let exit): exited(exit)
        case .launchTimedOut: launchTimedOut()
        case .lookupFailed: lookupFailed()
        case .tellsState(let owner, let told): tellsState(owner, told)
        case .interrupted: interrupted()
        case .resumed: resumed()
        case .losesForeground: losesForeground()
        case .reachedBackground(let owner): reachedBackground(owner)
        case .hangs(let owner, let reason): hangs(owner, reason)
        case .backgroundTimeIsOver: backgroundTimeIsOver()
        case .suspendAnswered(let owner, let isReady): suspendAnswered(owner, isReady)
        case .cannotBeStopped(let owner): cannotBeStopped(owner)
        case .timeOver: timeOver()
        case .nameTimeOver: nameTimeOver()
        case .refusesMore: refusesMore()
        case .terminated: terminated()
        case .purged: purged()
        case .replaced: replaced()
        case .endTimedOut: endTimedOut(hasProcess)
        case .released: released()
        }
    }
}

// MARK: - The process: started, found, gone

extension HandlerStateMachine {
    private mutating func requested() -> [Effect] {
        switch state {
        case .notRunning:
            state = .lookingForOwner
            return [.lookForOwner]
        case .running:
            return [.deliver]
        case .suspended(let owner) where getsURLsBeforeName:
            state = .running(owner: owner, .background)
            woken = owner
            return [.resume, .startNameTimer, .deliver]
        case .suspended(let owner):
            state = .waking(owner: owner)
            return [.resume, .startTimer]
        case .lookingForOwner, .starting, .lostProcess, .suspending, .waking, .ending:
            return []
        }
    }

    private mutating func found(_ owner: BusName?) -> [Effect] {
        switch (state, owner) {
        case (.lookingForOwner, let owner?), (.lostProcess, let owner?):
            return run(owner)
        case (.lookingForOwner, nil):
            state = .starting
            return [.launch]
        case (.lostProcess(let exit), nil):
            state = .notRunning
            return [.failLaunch(.processEnded(exit))]
        // The name has gained an owner since the bus was asked.
        case (.notRunning, _), (.starting, _), (.running, _), (.suspending, _), (.suspended, _), (.waking, _),
            (.ending, _):
            return []
        }
    }

    private mutating func lookupFailed() -> [Effect] {
        switch state {
        case .lookingForOwner, .lostProcess:
            state = .notRunning
            let error = OpenURLError(.launchFailed, "the bus did not say whether \(id) is running; try again")
            return [.failWaiting(error)]
        case .notRunning, .starting, .running, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func ownerChanged(_ owner: BusName?, _ hasProcess: Bool) -> [Effect] {
        guard let owner else { return nameReleased(hasProcess) }
        switch state {
        // No matter who woke the process, it continues where it was stopped, perhaps just after it took the name.
        case .suspended(owner):
            state = .running(owner: owner, .background)
            return [.resume, .scheduleSuspension, .deliver]
        case .waking(owner):
            state = .running(owner: owner, .background)
            return [.scheduleSuspension, .deliver]
        case .running(owner, let activity) where woken == owner:
            woken = nil
            return activity == .background ? [.scheduleSuspension] : []
        // The handler will answer next whether it can be stopped.
        case .suspending(owner):
            return []
        // Another process took the name. When the stopped process continues, it notices this and exits.
        case .suspended:
            return [.resume] + run(owner)
        // In every state, a new owner of the name is a running handler.
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .waking, .ending:
            return run(owner)
        }
    }

    private mutating func nameReleased(_ hasProcess: Bool) -> [Effect] {
        switch state {
        // Only now does the bus report that the name was released before the suspension, because the handler's answer
        // came over the lane.
        case .running where woken != nil:
            return []
        case .running:
            return hasProcess ? end(nil) : gone()
        case .ending:
            guard hasProcess else { return gone() }
            state = .ending(owner: nil)
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking:
            return []
        }
    }

    private mutating func foundStranger(_ error: OpenURLError) -> [Effect] {
        switch state {
        case .lookingForOwner, .lostProcess:
            state = .notRunning
            return [.failWaiting(error)]
        // The started process cannot have the name.
        case .starting:
            return end(nil, .kill, .failWaiting(error))
        // The process has lost its name, so no URL can reach it.
        case .running:
            return end(nil, .terminate)
        // If the handler continues but cannot take its name back, it exits on its own.
        case .notRunning, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func launchFailed(_ error: OpenURLError) -> [Effect] {
        switch state {
        case .starting:
            state = .notRunning
            return [.failWaiting(error)]
        case .notRunning, .lookingForOwner, .lostProcess, .running, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func launchTimedOut() -> [Effect] {
        switch state {
        case .starting:
            return end(nil, .kill, .failLaunch(.nameNotTaken))
        case .running:
            return [.checkProgress]
        case .notRunning, .lookingForOwner, .lostProcess, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func hangs(_ hanging: BusName, _ reason: QuotingText) -> [Effect] {
        switch state {
        case .running(hanging, _):
            return kill(hanging, reason)
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
            .ending:
            return []
        }
    }

    private mutating func exited(_ exit: ProcessExit) -> [Effect] {
        switch state {
        case .starting:
            state = .lostProcess(exit)
            return [.lookForOwner]
        case .suspending, .suspended, .waking, .ending(owner: nil):
            return gone()
        case .running where woken != nil:
            return gone()
        // Next, the bus will report that the name has no owner, unless another process holds the connection.
        case .running(let owner, _), .ending(let owner?):
            return end(owner)
        case .notRunning, .lookingForOwner, .lostProcess:
            return []
        }
    }

    private mutating func refusesMore() -> [Effect] {
        switch state {
        case .running(let owner, _):
            return end(owner)
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func terminated() -> [Effect] {
        switch state {
        case .running where woken != nil:
            return killStopped()
        case .running(let owner, _):
            return end(owner, .terminate)
        case .starting:
            return end(nil, .kill, .failWaiting(OpenURLError(.launchFailed, "\(id) was ended before it was ready")))
        case .suspending, .suspended, .waking:
            return killStopped()
        case .lookingForOwner, .lostProcess:
            state = .notRunning
            return [.failWaiting(OpenURLError(.launchFailed, "\(id) was ended before it was ready"))]
        case .notRunning, .ending:
            return []
        }
    }

    private mutating func endTimedOut(_ hasProcess: Bool) -> [Effect] {
        switch state {
        case .ending(let owner):
            // If the name has an owner by then, that owner is the handler.
            if hasProcess { return [.killLate, .startEndWatchdog] }
            return owner == nil ? gone() : [.endDescendants, .startEndWatchdog]
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking:
            return []
        }
    }

    private mutating func released() -> [Effect] {
        switch state {
        case .ending(owner: nil):
            return gone()
        case .ending:
            // A new process could not take the name.
            state = .notRunning
            let error = OpenURLError(
                .launchFailed,
                "another process keeps the name \(id) but takes no URLs; the router does not kill a process that is not the "
                    + "handler's own"
            )
            return [.failWaiting(error)]
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking:
            return []
        }
    }

    private mutating func run(_ owner: BusName) -> [Effect] {
        guard self.owner != owner else { return [] }
        state = .running(owner: owner, .inactive)
        return [.identify(owner: owner), .deliver]
    }

    private mutating func gone() -> [Effect] {
        state = .notRunning
        return [.restartIfWaiting]
    }

    private mutating func kill(_ owner: BusName?, _ reason: QuotingText) -> [Effect] {
        end(owner, .blame(OpenURLError(.timedOut, "\(reason); its process was killed")), .kill)
    }

    /// Makes sure that there is a watchdog whenever a process is to end.
    private mutating func end(_ owner: BusName?, _ effects: Effect...) -> [Effect] {
        // If the process has not taken the name, the bus will not report its end.
        state = .ending(owner: woken == nil ? owner : nil)
        return effects + [.startEndWatchdog]
    }
}

// MARK: - The activity: foreground, background, suspended

extension HandlerStateMachine {
    private mutating func delivers(_ inBackground: Bool) -> [Effect] {
        switch state {
        // The interruption goes on: it withholds only the user's input.
        case .running(_, .interrupted):
            return []
        case .running(let owner, _) where !inBackground:
            state = .running(owner: owner, .foreground)
            return [.takeForeground]
        case .running(let owner, .inactive):
            state = .running(owner: owner, .background)
            return [.scheduleSuspension]
        case .running:
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func tellsState(_ teller: BusName, _ told: HandlerState) -> [Effect] {
        switch state {
        case .running(teller, .inactive):
            if told == .background {
                state = .running(owner: teller, .background)
                return [.scheduleSuspension]
            }
            // A handler that is started by hand starts in the foreground. If an earlier router has interrupted it, that
            // interruption is over.
            state = .running(owner: teller, .foreground)
            return told == .inactive ? [.takeForeground, .becomeActive(owner: teller)] : [.takeForeground]
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
            .ending:
            return []
        }
    }

    private mutating func interrupted() -> [Effect] {
        switch state {
        case .running(let owner, .foreground):
            state = .running(owner: owner, .interrupted)
            return [.resignActive(owner: owner)]
        case .running(_, .inactive), .running(_, .interrupted), .running(_, .leaving), .running(_, .background):
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func resumed() -> [Effect] {
        switch state {
        case .running(let owner, .interrupted):
            state = .running(owner: owner, .foreground)
            return [.becomeActive(owner: owner)]
        case .running(_, .inactive), .running(_, .foreground), .running(_, .leaving), .running(_, .background):
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func losesForeground() -> [Effect] {
        switch state {
        case .running(let owner, .inactive), .running(let owner, .foreground), .running(let owner, .interrupted):
            if exitsOnSuspend { return end(owner, .terminate) }
            state = .running(owner: owner, .leaving)
            return [.enterBackground(owner: owner)]
        case .running(_, .leaving), .running(_, .background):
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func reachedBackground(_ owner: BusName) -> [Effect] {
        switch state {
        case .running(owner, .leaving):
            state = .running(owner: owner, .background)
            return [.scheduleSuspension]
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
            .ending:
            return []
        }
    }

    private mutating func backgroundTimeIsOver() -> [Effect] {
        switch state {
        case .running(let owner, .background), .suspending(let owner):
            return kill(owner, "a background task of \(id) was still open when its time ran out")
        case .running(_, .inactive), .running(_, .foreground), .running(_, .interrupted), .running(_, .leaving):
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func timeOver() -> [Effect] {
        switch state {
        // The handler would release a name that it does not have yet, so suspend it later.
        case .running where woken != nil:
            return []
        case .running(let owner, .background):
            // A URL for the background has launched it there.
            if exitsOnSuspend { return end(owner, .terminate) }
            state = .suspending(owner: owner)
            return [.askToSuspend(owner: owner), .startTimer]
        case .suspending:
            return kill(nil, "\(id) did not get ready to be suspended within \(transitionTimeout.inWords)")
        case .waking:
            return end(nil, .blame(nameTimeoutError), .kill, .failWaiting(nameTimeoutError))
        case .running(_, .inactive), .running(_, .foreground), .running(_, .interrupted), .running(_, .leaving):
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspended, .ending:
            return []
        }
    }

    private mutating func nameTimeOver() -> [Effect] {
        guard woken != nil else { return [] }
        return end(nil, .blame(nameTimeoutError), .kill, .failWaiting(nameTimeoutError))
    }

    private var nameTimeoutError: OpenURLError {
        OpenURLError(
            .timedOut,
            "\(id) did not take its name on the bus within \(transitionTimeout.inWords) of being woken; its process was killed"
        )
    }

    private mutating func suspendAnswered(_ answering: BusName, _ isReady: Bool) -> [Effect] {
        switch state {
        case .suspending(answering):
            if isReady {
                state = .suspended(owner: answering)
                return [.stop, .wakeIfWaiting]
            }
            state = .running(owner: answering, .background)
            return [.scheduleSuspension, .deliver]
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
            .ending:
            return []
        }
    }

    private mutating func cannotBeStopped(_ answering: BusName) -> [Effect] {
        switch state {
        case .suspending(answering):
            state = .waking(owner: answering)
            return [.resume, .startTimer]
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
            .ending:
            return []
        }
    }

    private mutating func purged() -> [Effect] {
        switch state {
        case .suspended:
            return killStopped()
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .waking, .ending:
            return []
        }
    }

    private mutating func replaced() -> [Effect] {
        switch state {
        // It is working on the request that woke it.
        case .running where woken != nil:
            return []
        case .running(let owner, .background):
            return end(owner, .terminate)
        case .suspended:
            return killStopped()
        case .running(_, .inactive), .running(_, .foreground), .running(_, .interrupted), .running(_, .leaving):
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .waking, .ending:
            return []
        }
    }

    /// Kills a stopped process. It gets no message before it ends ("App Termination").
    private mutating func killStopped() -> [Effect] {
        end(nil, .kill)
    }
}
