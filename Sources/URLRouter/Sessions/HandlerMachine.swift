internal import DBus
internal import OpenURLBus
internal import Reactor

/// The life of one handler's process as a pure value: what happened goes in, what to do about it comes out.
///
/// There is never a second process of a handler: it is started only when nobody owns its name and no process of it is
/// left, and whoever gets the name is the handler, no matter who started it.
struct HandlerMachine {
    enum State: Hashable {
        /// No process is known.
        case notRunning
        /// The bus is being asked whether somebody owns the name.
        case lookingForOwner
        /// A process was started and does not own the name yet.
        case starting
        /// The process that was started has ended; the bus is being asked whether another one owns the name.
        case lostProcess(ProcessExit)
        /// URLs go to this connection.
        case running(owner: BusName, Activity)
        /// The handler was asked to give its name back, so that it can be stopped.
        case suspending(owner: BusName)
        /// The process is stopped, and nobody owns the name.
        case suspended(owner: BusName)
        /// The process goes on, and does not own the name yet.
        case waking(owner: BusName)
        /// The handler takes no more URLs, and its process is not gone yet.
        case ending(owner: BusName?)
    }

    /// What a running handler does, as far as the router has told it.
    enum Activity: Hashable {
        /// It has been told nothing yet.
        case inactive
        case foreground
        /// On its way to the background.
        case leaving
        case background
    }

    enum Event {
        /// A URL waits for the handler.
        case requested
        /// A URL is about to be handed over, which takes the handler to the foreground or not.
        case handsOver(inBackground: Bool)
        /// The bus's answer to the question for the owner.
        case found(owner: BusName?)
        /// The bus says that the name has another owner, or none.
        case ownerChanged(BusName?)
        /// The process could not be started.
        case launchFailed(OpenURLError)
        /// The process that the session holds has ended.
        case exited(ProcessExit)
        /// The launch has taken as long as it may.
        case launchTimedOut
        /// The launch hangs in this delegate method of this owner.
        case launchHangs(owner: BusName, phase: String)
        /// The bus did not say who owns the name.
        case lookupFailed
        /// A handler that was started by others has said in which state it is.
        case tellsState(owner: BusName, HandlerState)
        /// Another handler is in the foreground now, or somebody asks for this one to leave it.
        case losesForeground
        /// The handler has answered that it is in the background, or that it does not know what that is.
        case reachedBackground(owner: BusName)
        /// The way to the background hangs in this delegate method of this owner.
        case backgroundHangs(owner: BusName, phase: String)
        /// A background task is still open, and there is no time left.
        case backgroundTimeIsOver
        /// The handler's answer to the question whether it can be stopped: it has given its name back, or kept it.
        case suspendAnswered(owner: BusName, isReady: Bool)
        /// The time is over that the state may last.
        case timeOver
        /// The handler answered that it is ending.
        case refusesMore
        /// Somebody wants the handler to end.
        case terminated
        /// The system needs the memory of what is suspended.
        case purged
        /// Ending has taken as long as it may.
        case endTimedOut
    }

    enum Effect: Hashable {
        case lookForOwner
        /// Start the process, and the launch watchdog with it.
        case launch
        /// Find out which process the owner is.
        case identify(owner: BusName)
        /// Hand over what waits, in order.
        case deliver
        /// What waits gets this error.
        case failWaiting(OpenURLError)
        /// Look whether the launch hangs in the delegate: the owner is there and has not answered yet.
        case checkLaunch(owner: BusName)
        /// This handler is the one in the foreground now.
        case takeForeground
        /// Tell the handler that it goes to the background, and start the watchdog.
        case enterBackground(owner: BusName)
        /// Look whether the way to the background hangs in the delegate.
        case checkBackground(owner: BusName)
        /// Suspend the handler when it has been in the background for long enough, and may be.
        case scheduleSuspension
        /// Ask the handler whether it can be stopped.
        case askToSuspend(owner: BusName)
        case stop
        case resume
        /// Have ``Event/timeOver`` happen when the state has lasted as long as it may.
        case startTimer
        /// The process is stopped: if something waits, wake it again.
        case wakeIfWaiting
        /// Ask the process to end.
        case terminate
        case kill
        /// What the process has in hand when it is killed gets this error and not that of a crash.
        case blame(OpenURLError)
        case startEndWatchdog
        /// The process is gone: if something waits, begin anew.
        case restartIfWaiting
    }

    let id: String
    /// How long a launch may take, for the next one.
    var launchTimeout: Duration
    /// How long the way to the background may take, and how long waking may, for what a person is told.
    let phaseTimeout: Duration
    /// Whether the handler ends where others go to the background (`UIApplicationExitsOnSuspend`).
    var exitsOnSuspend = false
    private(set) var state = State.notRunning
    /// Whether the process that the session holds has not ended yet.
    private(set) var hasProcess = false

    init(id: String, launchTimeout: Duration, phaseTimeout: Duration) {
        self.id = id
        self.launchTimeout = launchTimeout
        self.phaseTimeout = phaseTimeout
    }

    /// The connection that URLs go to, while it takes them.
    var owner: BusName? {
        if case .running(let owner, _) = state { owner } else { nil }
    }

    /// The connection of the handler's process, whether URLs can go to it now or not.
    var connection: BusName? {
        switch state {
        case .running(let owner, _), .suspending(let owner), .suspended(let owner), .waking(let owner): owner
        case .ending(let owner): owner
        case .notRunning, .lookingForOwner, .starting, .lostProcess: nil
        }
    }

    /// The session holds a process now: the one that it started, or the one that owns the name.
    mutating func holdsProcess() {
        hasProcess = true
    }

    mutating func on(_ event: Event) -> [Effect] {
        switch event {
        case .requested, .found, .ownerChanged, .launchFailed, .exited, .launchTimedOut, .launchHangs, .lookupFailed,
            .refusesMore, .endTimedOut, .terminated:
            onProcess(event)
        case .handsOver, .tellsState, .losesForeground, .reachedBackground, .backgroundHangs, .backgroundTimeIsOver,
            .suspendAnswered, .timeOver, .purged:
            onActivity(event)
        }
    }
}

// MARK: - The process: started, found, gone

extension HandlerMachine {
    private mutating func onProcess(_ event: Event) -> [Effect] {
        switch (state, event) {
        // It answers the question for its suspension next.
        case (.suspending(let owner), .ownerChanged(let new?)) where new == owner: return []
        // It goes on where it was stopped, whoever woke it.
        case (.suspended(let owner), .ownerChanged(let new?)) where new == owner,
            (.waking(let owner), .ownerChanged(let new?)) where new == owner:
            state = .running(owner: owner, .background)
            return [.scheduleSuspension, .deliver]
        // Another process took the name; the one that is stopped finds that out and ends.
        case (.suspended, .ownerChanged(let owner?)):
            return [.resume] + run(owner)
        // A name that gets an owner is a running handler, whatever was before.
        case (_, .ownerChanged(let owner?)), (.lookingForOwner, .found(let owner?)), (.lostProcess, .found(let owner?)):
            return run(owner)

        case (.notRunning, .requested):
            state = .lookingForOwner
            return [.lookForOwner]
        case (.running, .requested):
            return [.deliver]
        case (.suspended(let owner), .requested):
            state = .waking(owner: owner)
            return [.resume, .startTimer]

        case (.lookingForOwner, .found(nil)):
            state = .starting
            return [.launch]
        case (.starting, .launchFailed(let error)):
            state = .notRunning
            return [.failWaiting(error)]
        case (.starting, .exited(let exit)):
            hasProcess = false
            state = .lostProcess(exit)
            return [.lookForOwner]
        case (.lostProcess(let exit), .found(nil)):
            state = .notRunning
            return [.failWaiting(OpenURLError(.launchFailed, "\(id) \(exit) before it was ready"))]

        case (.lookingForOwner, .lookupFailed), (.lostProcess, .lookupFailed):
            state = .notRunning
            let error = OpenURLError(.launchFailed, "the bus does not say whether \(id) is running; try again")
            return [.failWaiting(error)]

        case (.starting, .launchTimedOut):
            state = .ending(owner: nil)
            let error = OpenURLError(
                .timedOut,
                "\(id) did not take its name on the bus within \(launchTimeout) of its start; its process was killed"
            )
            return [.kill, .failWaiting(error)]
        case (.running(let owner, _), .launchTimedOut):
            return [.checkLaunch(owner: owner)]
        case (.running(let owner, _), .launchHangs(let hanging, let phase)) where hanging == owner:
            return kill(owner, "\(phase) of \(id) did not return within \(launchTimeout) of the launch")

        case (.running, .ownerChanged(nil)):
            return end(owner: nil)
        case (.running(let owner, _), .refusesMore):
            return end(owner: owner)
        case (.running(let owner, _), .terminated):
            state = .ending(owner: owner)
            return [.terminate, .startEndWatchdog]
        case (.starting, .terminated):
            state = .ending(owner: nil)
            return [.kill, .failWaiting(OpenURLError(.launchFailed, "\(id) was ended before it was ready"))]
        case (.suspending, .terminated), (.suspended, .terminated), (.waking, .terminated):
            return purge()

        case (.ending, .ownerChanged(nil)):
            return hasProcess ? remainEnding() : gone()
        case (.ending, .endTimedOut):
            // Who owns the name then, if anybody, is the handler.
            return hasProcess ? [.kill, .startEndWatchdog] : gone()

        case (.ending(let owner), .exited):
            hasProcess = false
            return owner == nil ? gone() : []
        case (.suspending, .exited), (.suspended, .exited), (.waking, .exited):
            hasProcess = false
            return gone()
        case (_, .exited):
            hasProcess = false
            return []

        default:
            return []
        }
    }

    private mutating func run(_ owner: BusName) -> [Effect] {
        guard self.owner != owner else { return [] }
        state = .running(owner: owner, .inactive)
        return [.identify(owner: owner), .deliver]
    }

    private mutating func end(owner: BusName?) -> [Effect] {
        guard owner != nil || hasProcess else { return gone() }
        state = .ending(owner: owner)
        return [.startEndWatchdog]
    }

    private mutating func remainEnding() -> [Effect] {
        state = .ending(owner: nil)
        return []
    }

    private mutating func gone() -> [Effect] {
        state = .notRunning
        return [.restartIfWaiting]
    }

    private mutating func kill(_ owner: BusName?, _ reason: String) -> [Effect] {
        state = .ending(owner: owner)
        return [.blame(OpenURLError(.timedOut, "\(reason); its process was killed")), .kill]
    }
}

// MARK: - The activity: foreground, background, suspended

extension HandlerMachine {
    private mutating func onActivity(_ event: Event) -> [Effect] {
        switch (state, event) {
        case (.running(_, .foreground), .handsOver): return []
        case (.running(let owner, _), .handsOver(inBackground: false)):
            state = .running(owner: owner, .foreground)
            return [.takeForeground]
        case (.running(let owner, .inactive), .handsOver(inBackground: true)):
            state = .running(owner: owner, .background)
            return [.scheduleSuspension]

        case (.running(let owner, .inactive), .tellsState(let teller, .background)) where teller == owner:
            state = .running(owner: owner, .background)
            return [.scheduleSuspension]
        // Who starts by hand starts into the foreground.
        case (.running(let owner, .inactive), .tellsState(let teller, _)) where teller == owner:
            state = .running(owner: owner, .foreground)
            return [.takeForeground]

        case (.running(let owner, .inactive), .losesForeground), (.running(let owner, .foreground), .losesForeground):
            if exitsOnSuspend {
                state = .ending(owner: owner)
                return [.terminate, .startEndWatchdog]
            }
            state = .running(owner: owner, .leaving)
            return [.enterBackground(owner: owner), .startTimer]
        case (.running(let owner, .leaving), .reachedBackground(let there)) where there == owner:
            state = .running(owner: owner, .background)
            return [.scheduleSuspension]
        case (.running(let owner, .leaving), .timeOver):
            return [.checkBackground(owner: owner)]
        case (.running(let owner, .leaving), .backgroundHangs(let hanging, let phase)) where hanging == owner:
            return kill(owner, "\(phase) of \(id) did not return within \(phaseTimeout)")
        case (.running(let owner, .leaving), .backgroundTimeIsOver),
            (.running(let owner, .background), .backgroundTimeIsOver):
            return kill(owner, "a background task of \(id) was still open when its time was over")

        case (.running(let owner, .background), .timeOver):
            state = .suspending(owner: owner)
            return [.askToSuspend(owner: owner), .startTimer]
        case (.suspending(let owner), .suspendAnswered(let answering, isReady: true)) where answering == owner:
            state = .suspended(owner: owner)
            return [.stop, .wakeIfWaiting]
        case (.suspending(let owner), .suspendAnswered(let answering, isReady: false)) where answering == owner:
            state = .running(owner: owner, .background)
            return [.scheduleSuspension, .deliver]
        case (.suspending, .timeOver):
            return kill(nil, "\(id) did not get ready to be suspended within \(phaseTimeout)")
        case (.waking, .timeOver):
            state = .ending(owner: nil)
            let error = OpenURLError(
                .timedOut,
                "\(id) did not take its name on the bus within \(phaseTimeout) of being woken; its process was killed"
            )
            return [.kill, .failWaiting(error)]
        case (.suspended, .purged):
            return purge()

        default:
            return []
        }
    }

    /// Nothing is told to a process that is stopped before it ends ("App Termination").
    private mutating func purge() -> [Effect] {
        state = .ending(owner: nil)
        return [.kill, .startEndWatchdog]
    }
}
