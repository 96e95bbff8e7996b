internal import DBus
internal import OpenURLBus
internal import Reactor

/// The life of one handler's process as a pure value: an event goes in, the effects to perform come out.
///
/// A handler never has two processes. The router starts a process only when the handler's name has no owner and no process
/// of the handler is left. The owner of the name is the
/// handler, also when another program started the process: the session tells the machine of no other owner.
///
/// Both tables are exhaustive: a new state or a new event does not compile until every pair is decided.
struct HandlerStateMachine {
    enum State: Hashable {
        /// The router knows of no process.
        case notRunning
        /// The router is asking the bus for the owner of the name.
        case lookingForOwner
        /// The router has started a process, which does not own the name yet.
        case starting
        /// The started process has ended. The router is asking the bus whether another process owns the name.
        case lostProcess(ProcessExit)
        /// URLs go to this connection.
        case running(owner: BusName, Activity)
        /// The router has asked the handler to release its name, so that the process can be stopped.
        case suspending(owner: BusName)
        /// The process is stopped, and the name has no owner.
        case suspended(owner: BusName)
        /// The process continues, and does not own the name yet.
        case waking(owner: BusName)
        /// The handler takes no more URLs, and its process has not ended yet.
        case ending(owner: BusName?)
    }

    /// The activity of a running handler, as far as the router has told the handler.
    enum Activity: Hashable {
        /// The router has told the handler nothing yet.
        case inactive
        case foreground
        /// The handler is on its way to the background.
        case leaving
        case background
    }

    enum Event {
        /// A request waits for the handler.
        case requested
        /// A request is about to be delivered, which takes the handler to the foreground or leaves it in the background.
        case delivers(inBackground: Bool)
        /// The bus has answered the question for the owner.
        case found(owner: BusName?)
        /// The bus says that the name has another owner, or none.
        case ownerChanged(BusName?)
        /// The name belongs to a process that is not the handler.
        case foundStranger(OpenURLError)
        /// The process could not be started.
        case launchFailed(OpenURLError)
        /// The process that the session holds has ended.
        case exited(ProcessExit)
        /// The launch has used up its time limit.
        case launchTimedOut
        /// The bus did not answer the question for the owner.
        case lookupFailed
        /// A handler that another program started has told its state.
        case tellsState(owner: BusName, HandlerState)
        /// Another handler comes to the foreground, or a caller asks for this handler to leave it.
        case losesForeground
        /// The handler has answered that it is in the background, or that it has no such method.
        case reachedBackground(owner: BusName)
        /// A delegate method of this owner has used up its time limit, so the process has to end. The text says which.
        case hangs(owner: BusName, QuotingText)
        /// A background task is still open at the end of the background time.
        case backgroundTimeIsOver
        /// The handler has answered whether it can be stopped: it has released its name, or kept it.
        case suspendAnswered(owner: BusName, isReady: Bool)
        /// The handler has released its name, and its process must not be stopped.
        case cannotBeStopped(owner: BusName)
        /// The time limit of the state is over.
        case timeOver
        /// A handler that was woken has used up the time to take its name.
        case nameTimeOver
        /// The handler has answered that it is ending.
        case refusesMore
        /// A caller wants the handler to end.
        case terminated
        /// The system needs the memory of suspended handlers.
        case purged
        /// The end of the process has used up its time limit.
        case endTimedOut
        /// The process does not end, and is not the router's to kill.
        case released
    }

    /// The way in which a launch failed. The session puts the failure into words, because it knows the process.
    enum LaunchFailure: Hashable {
        /// The process ended before it was ready.
        case processEnded(ProcessExit)
        /// The process did not take the handler's name within the time limit, and was killed.
        case nameNotTaken
    }

    enum Effect: Hashable {
        case lookForOwner
        /// Start the process, and the launch watchdog with it.
        case launch
        /// Find out which process the owner is.
        case identify(owner: BusName)
        /// Deliver the waiting requests, in order.
        case deliver
        /// Fail the waiting requests with this error.
        case failWaiting(OpenURLError)
        /// Fail the waiting requests because the launch has failed.
        case failLaunch(LaunchFailure)
        /// Check whether a delegate method hangs.
        case checkProgress
        /// Make this handler the only one in the foreground.
        case takeForeground
        /// Tell the handler that it goes to the background.
        case enterBackground(owner: BusName)
        /// Suspend the handler after its suspend delay, if it may be suspended.
        case scheduleSuspension
        /// Ask the handler whether it can be stopped.
        case askToSuspend(owner: BusName)
        case stop
        case resume
        /// Make ``Event/timeOver`` happen at the end of the state's time limit.
        case startTimer
        /// Make ``Event/nameTimeOver`` happen at the end of the time limit for waking.
        case startNameTimer
        /// The process is stopped: wake it again if a request waits.
        case wakeIfWaiting
        /// Ask the process to end.
        case terminate
        case kill
        /// Fail the requests in hand with this error instead of that of a crash.
        case blame(OpenURLError)
        case startEndWatchdog
        /// The process is gone, and its connection is not: end the processes that have inherited the connection.
        case endDescendants
        /// The process is gone: start over if a request waits.
        case restartIfWaiting
    }

    let id: String
    /// The time limit of the next launch.
    var launchTimeout: Duration
    /// The time limit of the preparation for a stop, and of waking; error messages name it.
    var transitionTimeout: Duration
    /// Whether the handler ends where others go to the background (`UIApplicationExitsOnSuspend`).
    var exitsOnSuspend = false
    /// Whether a handler that is woken gets URLs before it owns its name again.
    var getsURLsBeforeName = false
    private(set) var state = State.notRunning
    /// The connection that was woken, gets URLs and does not own its name yet. The handler is running meanwhile.
    private(set) var woken: BusName?

    init(id: String, launchTimeout: Duration, transitionTimeout: Duration) {
        self.id = id
        self.launchTimeout = launchTimeout
        self.transitionTimeout = transitionTimeout
    }

    /// The connection that gets the handler's URLs, while the handler takes URLs.
    var owner: BusName? {
        if case .running(let owner, _) = state { owner } else { nil }
    }

    /// The connection of the handler's process, whether it takes URLs now or not.
    var connection: BusName? {
        switch state {
        case .running(let owner, _), .suspending(let owner), .suspended(let owner), .waking(let owner): owner
        case .ending(let owner): owner
        case .notRunning, .lookingForOwner, .starting, .lostProcess: nil
        }
    }

    /// Takes an event into account.
    ///
    /// - Parameter hasProcess: whether the session holds a process that has not ended: the process that it started, or
    ///   the process that owns the name.
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
        // The name has got an owner since the question was asked.
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
        // The process continues where it was stopped, whoever woke it. It may have been stopped just after it took the name.
        case .suspended(owner):
            state = .running(owner: owner, .background)
            return [.resume, .scheduleSuspension, .deliver]
        case .waking(owner):
            state = .running(owner: owner, .background)
            return [.scheduleSuspension, .deliver]
        case .running(owner, let activity) where woken == owner:
            woken = nil
            return activity == .background ? [.scheduleSuspension] : []
        // The handler answers the question for its suspension next.
        case .suspending(owner):
            return []
        // Another process took the name. The stopped process notices that when it continues, and ends.
        case .suspended:
            return [.resume] + run(owner)
        // A name that gets an owner is a running handler, in every state.
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .waking, .ending:
            return run(owner)
        }
    }

    private mutating func nameReleased(_ hasProcess: Bool) -> [Effect] {
        switch state {
        // The bus tells the release before the suspension only now: the answer of the handler came over the lane.
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
        // A handler that cannot take its name back ends by itself when it continues.
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
        // The bus says next that the name has no owner, unless another process holds the connection.
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
            // An owner that the name has by then is the handler.
            if hasProcess { return [.kill, .startEndWatchdog] }
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

    /// Every end has a watchdog.
    private mutating func end(_ owner: BusName?, _ effects: Effect...) -> [Effect] {
        // The bus does not tell the end of a name that the process has not taken.
        state = .ending(owner: woken == nil ? owner : nil)
        return effects + [.startEndWatchdog]
    }
}

// MARK: - The activity: foreground, background, suspended

extension HandlerStateMachine {
    private mutating func delivers(_ inBackground: Bool) -> [Effect] {
        switch state {
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
            // A handler that is started by hand starts into the foreground.
            state = .running(owner: teller, .foreground)
            return [.takeForeground]
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
            .ending:
            return []
        }
    }

    private mutating func losesForeground() -> [Effect] {
        switch state {
        case .running(let owner, .inactive), .running(let owner, .foreground):
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
            return kill(owner, "a background task of \(id) was still open when its time was over")
        case .running(_, .inactive), .running(_, .foreground), .running(_, .leaving):
            return []
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspended, .waking, .ending:
            return []
        }
    }

    private mutating func timeOver() -> [Effect] {
        switch state {
        // The handler would release a name that it does not have. It is suspended after it has the name.
        case .running where woken != nil:
            return []
        case .running(let owner, .background):
            state = .suspending(owner: owner)
            return [.askToSuspend(owner: owner), .startTimer]
        case .suspending:
            return kill(nil, "\(id) did not get ready to be suspended within \(transitionTimeout.inWords)")
        case .waking:
            return end(nil, .kill, .failWaiting(nameTimeoutError))
        case .running(_, .inactive), .running(_, .foreground), .running(_, .leaving):
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

    /// A stopped process is told nothing before it ends ("App Termination").
    private mutating func killStopped() -> [Effect] {
        end(nil, .kill)
    }
}
