internal import Reactor

/// One handler's timers, each of which ends in an event for the machine.
///
/// They belong to the router's actor.
final class HandlerTimers {
    /// Watchdog for a launch.
    let launch: RestartableTimer
    /// Watchdog for the process's exit.
    let end: RestartableTimer
    /// Ends the machine's current state, if it has a time limit.
    let state: RestartableTimer
    /// Watchdog for a woken handler, until it has its name.
    let name: RestartableTimer
    /// Ends the time in the background while a task is open.
    let background: RestartableTimer
    private unowned let session: any SessionView

    init(on loop: EventLoop, _ session: any SessionView) {
        launch = RestartableTimer(on: loop)
        end = RestartableTimer(on: loop)
        state = RestartableTimer(on: loop)
        name = RestartableTimer(on: loop)
        background = RestartableTimer(on: loop)
        self.session = session
    }

    /// Starts a timer. If a debugger or the user holds the process, it gets the same time again, unless the user wants
    /// it to exit.
    func start(_ timer: RestartableTimer, in time: Duration, _ event: HandlerStateMachine.Event) {
        timer.start(in: time) { [self, session] in
            if session.process.isHeld, !session.process.isUnwanted { return start(timer, in: time, event) }
            session.handle(event)
        }
    }

    /// Stops the watchdogs for launch and exit, because one of the two has happened, or there is no process.
    func cancelProcessTimers() {
        launch.cancel()
        end.cancel()
    }
}
