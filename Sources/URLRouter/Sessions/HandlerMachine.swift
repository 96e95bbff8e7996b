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
        case running(owner: BusName)
        /// The handler takes no more URLs, and its process is not gone yet.
        case ending(owner: BusName?)
    }

    enum Event {
        /// A URL waits for the handler.
        case requested
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
        /// The handler answered that it is ending.
        case refusesMore
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
    private(set) var state = State.notRunning
    /// Whether the process that the session holds has not ended yet.
    private(set) var hasProcess = false

    init(id: String, launchTimeout: Duration) {
        self.id = id
        self.launchTimeout = launchTimeout
    }

    /// The session holds a process now: the one that it started, or the one that owns the name.
    mutating func holdsProcess() {
        hasProcess = true
    }

    mutating func on(_ event: Event) -> [Effect] {
        switch (state, event) {
        // A name that gets an owner is a running handler, whatever was before.
        case (_, .ownerChanged(let owner?)), (.lookingForOwner, .found(let owner?)), (.lostProcess, .found(let owner?)):
            guard state != .running(owner: owner) else { return [] }
            state = .running(owner: owner)
            return [.identify(owner: owner), .deliver]

        case (.notRunning, .requested):
            state = .lookingForOwner
            return [.lookForOwner]
        case (.running, .requested):
            return [.deliver]

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
        case (.running(let owner), .launchTimedOut):
            return [.checkLaunch(owner: owner)]
        case (.running(let owner), .launchHangs(let hanging, let phase)) where owner == hanging:
            state = .ending(owner: owner)
            let error = OpenURLError(
                .timedOut,
                "\(phase) of \(id) did not return within \(launchTimeout) of the launch; its process was killed"
            )
            return [.blame(error), .kill]

        case (.running, .ownerChanged(nil)):
            return end(owner: nil)
        case (.running(let owner), .refusesMore):
            return end(owner: owner)
        case (.ending, .ownerChanged(nil)):
            return hasProcess ? remainEnding() : gone()
        case (.ending, .endTimedOut):
            // Who owns the name then, if anybody, is the handler.
            return hasProcess ? [.kill, .startEndWatchdog] : gone()

        case (.ending(let owner), .exited):
            hasProcess = false
            return owner == nil ? gone() : []
        case (_, .exited):
            hasProcess = false
            return []

        default:
            return []
        }
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
}
