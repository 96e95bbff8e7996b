internal import DBus
internal import OpenURLBus
internal import Reactor

/// The states of a handler's process, the events that change them, and the effects.
extension HandlerStateMachine {
    enum State: Hashable {
        /// The router does not know about any process.
        case notRunning
        /// The router is asking the bus who owns the name.
        case lookingForOwner
        /// A process was started, but does not own the name yet.
        case starting
        /// The started process has exited, and the router is asking the bus whether another process owns the name.
        case lostProcess(ProcessExit)
        /// URLs go to this connection.
        case running(owner: BusName, Activity)
        /// The handler was asked to release its name, so that its process can be stopped.
        case suspending(owner: BusName)
        /// The process is stopped, and its name has no owner.
        case suspended(owner: BusName)
        /// The process continues, but does not own the name yet.
        case waking(owner: BusName)
        /// The handler takes no more URLs, but its process is still running.
        case ending(owner: BusName?)
    }

    /// A running handler's activity, as far as the router has told the handler about it.
    enum Activity: Hashable {
        /// The handler has had no message from the router yet.
        case inactive
        case foreground
        /// In the foreground, but inactive because of an interruption.
        case interrupted
        /// It is on its way to the background.
        case leaving
        case background
    }

    enum Event {
        /// A request is waiting for the handler.
        case requested
        /// A request is about to be delivered, which brings the handler to the foreground or leaves it in the
        /// background.
        case delivers(inBackground: Bool)
        /// The bus has said who owns the name.
        case found(owner: BusName?)
        /// According to the bus, the name has another owner, or none.
        case ownerChanged(BusName?)
        /// The name belongs to a process that is not the handler.
        case foundStranger(OpenURLError)
        /// The process could not be started.
        case launchFailed(OpenURLError)
        /// The session's process has exited.
        case exited(ProcessExit)
        /// The launch took too long.
        case launchTimedOut
        /// The bus did not say who owns the name.
        case lookupFailed
        /// A handler that another program started has reported its state.
        case tellsState(owner: BusName, HandlerState)
        /// An interruption begins.
        case interrupted
        /// The last interruption has ended.
        case resumed
        /// Another handler comes to the foreground, or a caller asks this one to leave it.
        case losesForeground
        /// The handler has answered that it is in the background, or that it has no such method.
        case reachedBackground(owner: BusName)
        /// A delegate method of this owner took too long, so the process has to end. The text says which method.
        case hangs(owner: BusName, QuotingText)
        /// A background task is still open at the end of the background time.
        case backgroundTimeIsOver
        /// The handler has answered whether it can be stopped: it has either released or kept its name.
        case suspendAnswered(owner: BusName, isReady: Bool)
        /// The handler has released its name, but its process must not be stopped.
        case cannotBeStopped(owner: BusName)
        /// The state's time limit has run out.
        case timeOver
        /// A woken handler did not take its name in time.
        case nameTimeOver
        /// The handler has answered that it is exiting.
        case refusesMore
        /// A caller wants the handler to exit.
        case terminated
        /// The system needs the memory that suspended handlers use.
        case purged
        /// The handler is in the background, and its process runs an earlier program.
        case replaced
        /// The process took too long to exit.
        case endTimedOut
        /// The process does not exit, and the router may not kill it.
        case released
    }

    /// Why a launch failed. The session puts this into words, because it knows the process.
    enum LaunchFailure: Hashable {
        /// It exited before it was ready.
        case processEnded(ProcessExit)
        /// It did not take the handler's name in time, and was killed.
        case nameNotTaken
    }

    enum Effect: Hashable {
        case lookForOwner
        /// Start the process, and with it the launch watchdog.
        case launch
        /// Find out which process owns the name.
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
        /// Tell the handler that it is no longer active.
        case resignActive(owner: BusName)
        /// Tell the handler that it is active again.
        case becomeActive(owner: BusName)
        /// Send the handler to the background.
        case enterBackground(owner: BusName)
        /// If the handler may be suspended, do so after its suspend delay.
        case scheduleSuspension
        /// Ask the handler whether it can be stopped.
        case askToSuspend(owner: BusName)
        case stop
        case resume
        /// Make ``Event/timeOver`` happen at the end of the state's time limit.
        case startTimer
        /// Make ``Event/nameTimeOver`` happen at the end of the time limit for waking.
        case startNameTimer
        /// The process has been stopped, so wake it again if a request is waiting.
        case wakeIfWaiting
        /// Ask the process to exit.
        case terminate
        case kill
        /// Kill the process, which should have exited by itself.
        case killLate
        /// Use this error for the requests in hand, instead of one about a crash.
        case blame(OpenURLError)
        case startEndWatchdog
        /// The process is gone but its connection is not, so end the processes that have inherited the connection.
        case endDescendants
        /// The process is gone, so start over if a request is waiting.
        case restartIfWaiting
    }
}
